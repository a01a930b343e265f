#!/bin/sh
# Makes the certificates of the tests anew: sh packages/reeve/test/certificates/make.sh
# They are committed, because node:crypto cannot issue any and not every machine has openssl
# (docs/contributing/decisions/0039-tls.md). The keys are no secrets: nobody but tests believes these authorities.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/ca.cnf" <<END
[ca]
default_ca = tests
[tests]
dir = $work
new_certs_dir = $work
database = $work/index
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
copy_extensions = copy
# Valid whatever the clock of a machine says.
default_startdate = 20200101000000Z
default_enddate = 21200101000000Z
[any]
commonName = supplied
END

request() { # NAME EXTENSION...
  name=$1
  shift
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" "$@" \
    -keyout "$work/$name.key" -out "$work/$name.csr"
}

sign() { # NAME FLAG...
  name=$1
  shift
  : > "$work/index"
  openssl ca -batch -notext -config "$work/ca.cnf" -in "$work/$name.csr" -out "$name.pem" "$@"
}

AUTHORITY="-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign"

authority() { # NAME
  # Unquoted: several words.
  request "$1" $AUTHORITY
  sign "$1" -selfsign -keyfile "$work/$1.key"
}

signed() { # NAME AUTHORITY NAMES [EXTENSION...]
  name=$1
  by=$2
  names=$3
  shift 3
  request "$name" -addext "subjectAltName=$names" "$@"
  sign "$name" -cert "$by.pem" -keyfile "$work/$by.key"
  mv "$work/$name.key" .
}

authority authority
authority stranger
local=DNS:localhost,IP:127.0.0.1
signed server authority "DNS:server.global.reeve,$local"
signed server-renewed authority "DNS:server.global.reeve,$local"
signed server-eu authority "DNS:server.eu.reeve,$local"
signed client authority DNS:client.global.reeve
signed client-eu authority DNS:client.eu.reeve
signed plain authority "$local"
signed user authority DNS:user.example
signed foreign-server stranger "DNS:server.global.reeve,$local"
signed foreign-client stranger DNS:client.global.reeve
# Certificates whose extended key usage allows one side of a connection only.
signed server-auth-only authority "DNS:server.global.reeve,$local" -addext extendedKeyUsage=serverAuth
signed client-auth-only authority "DNS:server.global.reeve,$local" -addext extendedKeyUsage=clientAuth
# A chain: the file holds the certificate and that of the intermediate authority.
request intermediate $AUTHORITY
sign intermediate -cert authority.pem -keyfile "$work/authority.key"
signed server-chained intermediate "DNS:server.global.reeve,$local"
cp server-chained.pem "$work/leaf.pem"
cat "$work/leaf.pem" intermediate.pem > server-chained.pem
rm intermediate.pem
