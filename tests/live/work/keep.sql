create table t@(a integer primary key, b text default 'x@' check(length(b) < 9 + @),
	c references t1(a) on delete cascade, d as (a + b) stored, unique(b, c));
create index i@ on t@(b collate nocase, c desc) where d > @;
create view v@ as with w(x) as (select a from t@ union all select x + 1 from w where x < 3)
	select x, (select max(b) from t@ where c = x) from w left join t@ on a = x
	where x in (select c from t@) group by x having count(*) > 1;
create trigger r@ after insert on t@ when new.a > @ begin
	insert into t@(b, c) select new.b || '@', case when new.c then abs(new.c) else null end;
	update t@ set b = upper(b) where a between 1 and new.a;
	delete from t@ where b like 'y%';
end;
insert into t@(a, b) values (1, 'abc'), (2, 'abcd');
select * from v@ join t@ on a = x;
