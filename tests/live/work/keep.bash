# Keep variables, functions and so on that bash made on many call paths. A call of a shell
# function is several calls of C functions.
deep() {
	if (($1)); then
		deep $(($1 - 1)) "$2"
	else
		eval "$2"
	fi
}
declare -A map
for ((i = 0; i < 3000; i++)); do
	deep $((i % 13)) "v$i=\${BASH_VERSION%%.*}-$i"
	deep $((i % 7)) "declare -g -a a$i=(1 2 {3..6} $i)"
	deep $((i % 5)) "map[k$i]=\$((i * 2))"
	deep $((i % 3)) "f$i() { case \$1 in a) g \"\$2\";; *) for x in 1; do
		[[ x == y* ]] || while :; do break; done; done;; esac; }"
	deep $((i % 4)) "alias l$i='ls -l'; printf -v p$i '%05d' $i"
	deep $((i % 6)) "read -r r$i <<< 'text $i'; trap 'x $i' USR1"
	deep $((i % 2)) "w$i=\${v$i/5/x}; export e$i=\${w$i@Q}; set -- $i *"
done
