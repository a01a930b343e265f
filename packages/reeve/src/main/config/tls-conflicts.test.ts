import assert from 'node:assert/strict'
import test from 'node:test'
import { hostFacts } from '../../../test/build/agent-config.ts'
import { loadConfig } from './load-config.ts'

const FILES = { REEVE_TLS_CERT_FILE: '/a.pem', REEVE_TLS_KEY_FILE: '/a.key' }
const ALL = { ...FILES, REEVE_TLS_CA_FILE: '/ca.pem' }

const cases = [
  { name: 'nothing at all', says: undefined },
  {
    name: 'HTTPS with a certificate',
    given: { ...FILES, REEVE_TLS_HTTP: 'true' },
    says: undefined,
  },
  {
    name: 'both ways with an authority',
    given: { ...ALL, REEVE_TLS_HTTP: 'true', REEVE_TLS_RPC: 'true' },
    says: undefined,
  },
  {
    name: 'HTTPS without a certificate',
    given: { REEVE_TLS_HTTP: 'true' },
    says: /^REEVE_TLS_HTTP is on, so a server needs tls\.cert_file/,
  },
  {
    name: 'a certificate without its key',
    given: { REEVE_TLS_CERT_FILE: '/a.pem' },
    says: /^REEVE_TLS_CERT_FILE is given, but .* go together/,
  },
  {
    name: 'both ways on a port without HTTPS',
    given: { ...ALL, REEVE_TLS_RPC: 'true' },
    says: /^REEVE_TLS_RPC is on and tls\.http is off/,
  },
  {
    name: 'both ways without an authority',
    given: { ...FILES, REEVE_TLS_HTTP: 'true', REEVE_TLS_RPC: 'true' },
    says: /tls\.ca_file, tls\.cert_file and tls\.key_file are needed/,
  },
  {
    name: 'callers that must prove themselves to nobody',
    given: { ...FILES, REEVE_TLS_HTTP: 'true', REEVE_TLS_VERIFY_HTTPS_CLIENT: 'true' },
    says: /^REEVE_TLS_VERIFY_HTTPS_CLIENT is on, which needs/,
  },
]

for (const { name, given, says } of cases)
  test(`tls settings: ${name}`, () => {
    const environment = { REEVE_SERVER: 'true', REEVE_DATA_DIR: '/data', ...given }
    const found = { files: [], problems: [] }
    const loaded = loadConfig({
      flags: new Map(),
      environment,
      configFiles: found,
      host: hostFacts,
    })
    const message = loaded.ok ? undefined : loaded.error[0]?.message
    if (says === undefined) assert.equal(message, undefined)
    else assert.match(message ?? '', says)
  })
