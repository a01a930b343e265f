import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '@reeve/kit/fault.ts'
import { isUnavailable, isTransient, sqlStateOf, toPostgresFault } from './postgres-faults.ts'

const serverSaid = (code: string) => Object.assign(new Error('from the server'), { code })
const systemSaid = (code: string) =>
  Object.assign(new Error(`write ${code}`), { code, errno: -32, syscall: 'write' })

const cases: readonly (readonly [what: string, thrown: unknown, passes: boolean])[] = [
  ['a lost connection', systemSaid('ECONNRESET'), true],
  ['a lost connection with a name of five letters', systemSaid('EPIPE'), true],
  ['a connection that ended without a code', new Error('Connection terminated'), true],
  ['a server that starts', serverSaid('57P03'), true],
  ['a connection that the server lost', serverSaid('08006'), true],
  ['a table that is not there', serverSaid('42P01'), false],
  ['a disk that is full', serverSaid('53100'), false],
  ['a mistake of ours', new TypeError('undefined is no function'), false],
  ['a fault that is one already', new Fault('storage-fenced', 'another leads'), false],
]
for (const [what, thrown, passes] of cases)
  test(`asking PostgreSQL again ${passes ? 'may help' : 'does not help'} after ${what}`, () => {
    assert.equal(isTransient(thrown), passes)
  })

test('only a server names errors by five characters', () => {
  assert.equal(sqlStateOf(serverSaid('40P01')), '40P01')
  assert.equal(sqlStateOf(systemSaid('EPIPE')), undefined)
  assert.equal(sqlStateOf(new Error('without a code')), undefined)
})

const unverified = Object.assign(new Error('self-signed certificate'), {
  code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
})
const unknownHost = Object.assign(new Error('getaddrinfo ENOTFOUND db.example'), {
  code: 'ENOTFOUND',
  syscall: 'getaddrinfo',
  hostname: 'db.example',
})
const startCases: readonly (readonly [what: string, thrown: unknown, isAwaited: boolean])[] = [
  ['a database that refuses connections', systemSaid('ECONNREFUSED'), true],
  ['a host name that is not known yet', unknownHost, true],
  ['a database that starts', serverSaid('57P03'), true],
  ['a standby that is about to be promoted', serverSaid('25006'), true],
  ['a connection that is cut by a proxy', new Error('Connection terminated unexpectedly'), true],
  ['a wrong password', serverSaid('28P01'), false],
  ['a database that is not there', serverSaid('3D000'), false],
  ['a certificate that is not trusted', unverified, false],
  ['a newer version of the tables', new Fault('storage-version', 'newer'), false],
]
for (const [what, thrown, isAwaited] of startCases)
  test(`a server that starts ${isAwaited ? 'waits for' : 'does not wait after'} ${what}`, () => {
    assert.equal(isUnavailable(thrown), isAwaited)
  })

test('a host name that cannot be resolved is named, with where to correct it', () => {
  const fault = toPostgresFault(unknownHost, 'db.example:5432/reeve', 'opening it')
  assert.match(
    fault.message,
    /^The database db\.example:5432\/reeve has a host name that cannot be resolved .*server\.database/,
  )
})

test('faults: the message of a full database says that no restart is needed', () => {
  const fault = toPostgresFault(serverSaid('53100'), 'db', 'appending to the log')
  assert.match(fault.message, /^The database db has no space left .*nothing has to be restarted/)
})
