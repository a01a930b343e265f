import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blake2b256 } from './blake2b.ts'

/** Published digests of short texts, then texts around the block size of 128 bytes. */
const cases: readonly { name: string; text: string; hex: string }[] = [
  {
    name: 'the empty text',
    text: '',
    hex: '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8',
  },
  {
    name: 'abc',
    text: 'abc',
    hex: 'bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319',
  },
  {
    name: 'the quick brown fox',
    text: 'The quick brown fox jumps over the lazy dog',
    hex: '01718cec35cd3d796dd00020e0bfecb473ad23457d063b75eff29c0ffa2e58a9',
  },
  {
    name: 'one byte less than a block',
    text: 'a'.repeat(127),
    hex: '59e2f1aba240f20aa591016f5ef429990bc9c2131dcd0d30f0ffd75ed18f317d',
  },
  {
    name: 'exactly a block',
    text: 'a'.repeat(128),
    hex: 'ae2aa48507885c4c950fb809b2076f959cde9f8ea6da260d9a3587df33dac450',
  },
  {
    name: 'one byte more than a block',
    text: 'a'.repeat(129),
    hex: '2f64744a6de0d2c0b56e64cf6e29a5aaa255010d415d51c75ccc82f73dccd865',
  },
  {
    name: 'characters of several bytes',
    text: 'é😀'.repeat(100),
    hex: 'b95381afce750b3a76687dbe60f6b13daccec218b30e6c48e0cb12662154392f',
  },
]
for (const c of cases)
  test(`blake2b: ${c.name}`, () => {
    assert.equal(blake2b256(c.text), Buffer.from(c.hex, 'hex').toString('base64'))
  })
