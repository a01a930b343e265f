import assert from 'node:assert/strict'
import test from 'node:test'
import { Flags } from '../flags.ts'
import { connectionSettings } from './settings.ts'

const KNOWN = {
  login: {
    address: 'http://login:1',
    tokens: { 'http://login:1': 'kept', 'http://env:1': 'other' },
  },
  devTokens: { 'http://127.0.0.1:4646': 'dev' },
}
const NOTHING = { login: undefined, devTokens: {} }
const ENVIRONMENT = { REEVE_ADDR: 'http://env:1', REEVE_TOKEN: 'env', REEVE_NAMESPACE: 'env' }

const cases = [
  {
    name: 'flags win over everything',
    flags: { address: 'http://flag:1', token: 'flag', namespace: 'flag', region: 'flag' },
    environment: ENVIRONMENT,
    known: KNOWN,
    wanted: ['http://flag:1', 'flag', 'flag', 'flag', '--address', '--token'],
  },
  {
    name: 'the environment wins over what login keeps',
    flags: {},
    environment: ENVIRONMENT,
    known: KNOWN,
    wanted: ['http://env:1', 'env', 'env', undefined, 'REEVE_ADDR', 'REEVE_TOKEN'],
  },
  {
    name: 'an empty variable is as good as none',
    flags: {},
    environment: { REEVE_ADDR: '', REEVE_TOKEN: '', REEVE_NAMESPACE: '' },
    known: KNOWN,
    wanted: ['http://login:1', 'kept', undefined, undefined, '"reeve login"', '"reeve login"'],
  },
  {
    name: 'a token is sent only to the server that it was kept for',
    flags: { address: 'http://flag:1' },
    environment: {},
    known: KNOWN,
    wanted: ['http://flag:1', undefined, undefined, undefined, '--address', 'nowhere'],
  },
  {
    name: 'without anything it is the agent of this machine',
    flags: {},
    environment: {},
    known: NOTHING,
    wanted: ['http://127.0.0.1:4646', undefined, undefined, undefined, 'the default', 'nowhere'],
  },
]

for (const { name, flags, environment, known, wanted } of cases)
  test(`connectionSettings: ${name}`, () => {
    const found = connectionSettings(new Flags(flags), environment, known)
    const { address, token, namespace, region, sources } = found
    assert.deepEqual([address, token, namespace, region, sources.address, sources.token], wanted)
  })
