import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findPem, readPem } from './pem.ts'

const TEXT = `before
-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
QUJD
REVG
-----END RSA PRIVATE KEY-----
between
-----BEGIN A-----
*
-----END A-----
`

test('pem: blocks have a label, headers and content', () => {
  assert.deepEqual(
    findPem(TEXT).map(({ label, content, headers }) => ({ label, content, headers })),
    [
      { label: 'RSA PRIVATE KEY', content: 'QUJDREVG', headers: ['Proc-Type: 4,ENCRYPTED'] },
      { label: 'A', content: '*', headers: [] },
    ],
  )
})

test('pem: undecodable content is not a block', () => {
  assert.deepEqual(
    readPem(TEXT).map(({ bytes }) => String.fromCharCode(...bytes)),
    ['ABCDEF'],
  )
})

test('pem: the reader accepts any text', () => {
  const pieces = fc.constantFrom(
    '-----BEGIN A-----',
    '-----END A-----',
    '\n',
    'QUJD',
    '=',
    '-',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(pieces), (parts) => {
      readPem(parts.join(''))
    }),
  )
})
