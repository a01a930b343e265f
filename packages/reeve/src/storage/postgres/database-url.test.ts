import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '@reeve/kit/fault.ts'
import { parseDatabaseUrl } from './database-url.ts'

const understood = [
  {
    name: 'host, port, database, user and password',
    url: 'postgres://reeve:s%40crd@127.0.0.1:6000/state',
    wanted: {
      name: '127.0.0.1:6000/state',
      user: 'reeve',
      password: 's@crd',
      hosts: [{ host: '127.0.0.1', port: 6000 }],
      session: 'any',
      tls: false,
    },
  },
  {
    name: 'the usual port, and a plain connection on this machine',
    url: 'postgresql://localhost/state',
    wanted: { name: 'localhost:5432/state', user: undefined, password: undefined, tls: false },
  },
  {
    name: 'a socket, by its folder',
    url: 'postgres://reeve@localhost/state?host=/var/run/postgresql',
    wanted: { hosts: [{ host: '/var/run/postgresql', port: 5432 }], tls: false },
  },
  {
    name: 'an address of version 6',
    url: 'postgres://[::1]:5433/state',
    wanted: { hosts: [{ host: '::1', port: 5433 }], tls: false },
  },
  {
    name: 'a name that has to be proven when the connection leaves the machine',
    url: 'postgres://db.example/state',
    wanted: {
      hosts: [{ host: 'db.example', port: 5432 }],
      tls: { rejectUnauthorized: true },
    },
  },
  {
    name: 'a time to connect in',
    url: 'postgres://localhost/state?connect_timeout=2&application_name=x',
    wanted: { connectMsMax: 2_000, applicationName: 'x' },
  },
  {
    name: 'several hosts, of which one has to take writes',
    url: 'postgres://reeve:s%2Cecret@10.0.0.1:5501,db.example,[::1]:5503/state',
    wanted: {
      name: '10.0.0.1:5501,db.example:5432,::1:5503/state',
      hosts: [
        { host: '10.0.0.1', port: 5501 },
        { host: 'db.example', port: 5432 },
        { host: '::1', port: 5503 },
      ],
      session: 'read-write',
      user: 'reeve',
      password: 's,ecret',
      tls: { rejectUnauthorized: true },
    },
  },
  {
    name: 'several hosts and ports as settings',
    url: 'postgres://reeve@/state?host=/run/a,/run/b&port=5432,5433&target_session_attrs=any',
    wanted: {
      user: 'reeve',
      hosts: [
        { host: '/run/a', port: 5432 },
        { host: '/run/b', port: 5433 },
      ],
      session: 'any',
      tls: false,
    },
  },
  {
    name: 'one port for all hosts',
    url: 'postgres:///state?host=127.0.0.1,127.0.0.2&port=6000&target_session_attrs=primary',
    wanted: {
      name: '127.0.0.1:6000,127.0.0.2:6000/state',
      session: 'read-write',
      tls: false,
    },
  },
]
for (const c of understood) {
  test(`a database URL gives ${c.name}`, () => {
    const target: Record<string, unknown> = { ...parseDatabaseUrl(c.url) }
    const found = Object.fromEntries(Object.keys(c.wanted).map((key) => [key, target[key]]))
    assert.deepEqual(found, c.wanted)
  })
}

const modes = [
  { mode: 'require', checks: false, names: false },
  { mode: 'verify-ca', checks: true, names: false },
  { mode: 'verify-full', checks: true, names: true },
]
for (const { mode, checks, names } of modes) {
  test(`sslmode ${mode} checks as much as it says`, () => {
    const { tls } = parseDatabaseUrl(`postgres://db.example/state?sslmode=${mode}`)
    assert.ok(tls !== false)
    assert.equal(tls.rejectUnauthorized, checks)
    assert.equal(tls.checkServerIdentity === undefined, names)
  })
}

const refused = [
  { name: 'something else', url: 'mysql://secret@host/x', says: /no URL like/ },
  { name: 'no URL', url: 'secret host', says: /no URL like/ },
  { name: 'no host', url: 'postgres:///x', says: /names no host/ },
  { name: 'no database', url: 'postgres://u:secret@host', says: /names no database/ },
  { name: 'an unknown setting', url: 'postgres://h/x?ssl=secret', says: /setting "ssl"/ },
  { name: 'a mode that hides the truth', url: 'postgres://h/x?sslmode=prefer', says: /sslmode is/ },
  { name: 'a host that is missing', url: 'postgres://a,,b/x', says: /names no host/ },
  {
    name: 'more ports than hosts',
    url: 'postgres:///x?host=a,b&port=1,2,3',
    says: /2 hosts and 3/,
  },
  { name: 'a port that is none', url: 'postgres:///x?host=a&port=secret', says: /a port is/ },
  {
    name: 'more hosts than there may be',
    url: `postgres://${'h,'.repeat(16)}h/x`,
    says: /more than 16 hosts/,
  },
  {
    name: 'a standby to read from',
    url: 'postgres://a,b/x?target_session_attrs=prefer-standby',
    says: /target_session_attrs is one of any, read-write, primary: a server has to write/,
  },
  { name: 'a missing file', url: 'postgres://h/x?sslrootcert=/no/ca', says: /sslrootcert cannot/ },
  { name: 'a broken escape', url: 'postgres://u:secret%zz@h/x', says: /percent sign/ },
  {
    name: 'a time that is none',
    url: 'postgres://h/x?connect_timeout=-1',
    says: /connect_timeout/,
  },
]
for (const c of refused) {
  test(`a database URL with ${c.name} is refused without showing it`, () => {
    assert.throws(
      () => parseDatabaseUrl(c.url),
      (thrown) => {
        assert.ok(thrown instanceof Fault)
        assert.equal(thrown.kind, 'storage-address')
        assert.match(thrown.message, c.says)
        assert.doesNotMatch(thrown.message, /secret/)
        return true
      },
    )
  })
}
