import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SecretMasker } from './phase-log.ts'

const CASES = [
  { name: 'a value', line: 'key is s3cret!', want: 'key is ***' },
  { name: 'its base64', line: btoa('s3cret!').replace(/=+$/, ''), want: '***' },
  { name: 'a line of a value with several', line: 'got line-two of it', want: 'got *** of it' },
  { name: 'nothing for a short value', line: 'abc', want: 'abc' },
]
for (const { name, line, want } of CASES)
  test(`masking: hides ${name}`, () => {
    const masking = new SecretMasker(['s3cret!', 'line-one\nline-two', 'abc'])
    assert.equal(masking.mask(line), want)
  })
