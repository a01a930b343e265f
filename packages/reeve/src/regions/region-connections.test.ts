import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeConnectionError } from './region-connections.ts'

const SECURE = 'https://10.0.0.1:4646'
const PLAIN = 'http://10.0.0.1:4646'

const cases = [
  {
    name: 'an authority that is not known',
    code: 'SELF_SIGNED_CERT_IN_CHAIN',
    text: 'the certificate of 10.0.0.1:4646 is not signed by an authority of tls.ca_file',
  },
  {
    name: 'a certificate that is over',
    code: 'CERT_HAS_EXPIRED',
    text: 'the certificate of 10.0.0.1:4646 has expired',
  },
  {
    name: 'a certificate that is for later',
    code: 'CERT_NOT_YET_VALID',
    text: 'the certificate of 10.0.0.1:4646 is not valid yet',
  },
  {
    name: 'an own certificate that is not taken',
    code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    text: '10.0.0.1:4646 does not accept the certificate of this server',
  },
  {
    name: 'a port that is not encrypted',
    code: 'ERR_SSL_WRONG_VERSION_NUMBER',
    text: '10.0.0.1:4646 does not speak HTTPS',
  },
  {
    name: 'an encrypted connection that ends',
    code: 'ECONNRESET',
    text: '10.0.0.1:4646 hung up; it may not accept the certificate of this server',
  },
  {
    name: 'a plain connection that ends',
    code: 'ECONNRESET',
    address: PLAIN,
    text: '10.0.0.1:4646 hung up; if it speaks HTTPS, its address begins with https://',
  },
  {
    name: 'a connection to a server that has answered before',
    code: 'ECONNRESET',
    hasAnswered: true,
    text: '10.0.0.1:4646 hung up',
  },
  { name: 'anything else', code: 'ECONNREFUSED', text: 'as the runtime says it' },
  { name: 'what has no code', code: undefined, text: 'as the runtime says it' },
]
for (const { name, code, address = SECURE, hasAnswered = false, text } of cases)
  test(`describeConnectionError: ${name}`, () => {
    const thrown = Object.assign(new Error('as the runtime says it'), { code })
    assert.equal(describeConnectionError(thrown, { address, hasAnswered }), text)
  })
