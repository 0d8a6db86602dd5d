# Keep values that Perl made on many call paths. An overloaded operator calls Perl code from
# C, so that the C stack is as deep as Perl's.
package Deep;
use overload '+' => sub {
	my ($s) = @_;
	$s->[0] ? Deep->new($s->[0] - 1, $s->[1]) + 1 : $s->[1]->();
};
sub new { bless [$_[1], $_[2]], $_[0] }

package main;
my @keep;
my @work = (
	sub { {a => [1 .. 3], "b$i" => 'x' x 50} },
	sub { eval "sub { my \$x = shift; \$x =~ /a(b|c)*$i/ ? 1 : [\$x] }" },
	sub { join ',', map { $_ * 2 } 1 .. 20 },
	sub { qr/(\w+)[a-z$i]+(?:x|y$i)/i },
	sub { [sort { $b <=> $a } map { $_ * $i % 7 } 1 .. 9] },
	sub { my $t = "a\nb$i\n"; open my $f, '<', \$t; [$f, <$f>] },
	sub { my %h = map { ("k$_" => sprintf '%05d', $_) } 1 .. 9; \%h },
	sub { (my $s = "text $i" x 9) =~ s/t(.)/<$1>/g; [split / /, $s] },
	sub { no strict; *{"f$i"} = sub { $i }; \&{"f$i"} },
	sub { [unpack 'N*', pack 'N*', 1 .. 9], reverse "abc$i" },
);
for $i (1 .. 20000) {
	push @keep, Deep->new($i % 14, $work[$i % @work]) + 1;
}
