define f@
if $arg0 > @
printf "%d\n", $arg0
while $arg0
set $v = @ - 1
end
end
end
document f@
Text @.
end
macro define m@(a, b) ((a) + @ * b)
set $v@ = (long) @ * 2 + 1
alias a@ = print -pretty on --
break *0x@
condition $bpnum $v@ > @ && $v@ != 7
commands
f@ 1
end
python gdb.set_convenience_variable('p@', 'text of @' * @)
python gdb.Breakpoint('*0x10@').condition = '$v@ == @'
python k@ = [gdb.parse_and_eval('$v@ + %d' % i) for i in range(9)]
tbreak *0x@
skip function f@
tvariable $t@ = @
set environment E@ text of @
display $v@ + @
python exec('class C@(gdb.Parameter):\n pass\nC@("c@", gdb.COMMAND_DATA, gdb.PARAM_ZINTEGER)')
define-prefix q@
define q@ x
echo @
end
