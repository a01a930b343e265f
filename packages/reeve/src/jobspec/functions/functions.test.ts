import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { call, fails, testCalls } from '../../../test/build/function-cases.ts'
import { jobFunctions } from './functions.ts'

const random = { next: () => 0.5 }

testCalls(
  [
    ['uuidv4()', '"00112233-4455-4677-8899-aabbccddeeff"'],
    ['uuidv5("dns", "www.example.com")', '"2ed6657d-e927-568b-95e1-2665a8aea6a2"'],
    ['uuidv5("url", "https://example.com/")', '"dd2c1780-811a-5296-81c5-178a0ef488bc"'],
    ['uuidv5("oid", "1.3.6.1")', '"1447fa61-5277-5fef-a9b3-fbc6e44f4af3"'],
    ['uuidv5("x500", "CN=x") == uuidv5("6ba7b814-9dad-11d1-80b4-00c04fd430c8", "CN=x")', 'true'],
    ['uuidv5("other", "x")', fails('namespace must be "dns", "url", "oid", "x500" or a UUID')],
    ['uuidv5("constructor", "x")', fails('namespace must be')],
  ],
  { draws: Array.from({ length: 16 }, (_, index) => (index * 17) / 256) },
)

// The documented functions.
const listed = `
  abs ceil floor log max min parseint pow signum
  chomp format formatlist indent join lower regex_replace replace split strlen strrev substr title
  trim trimprefix trimspace trimsuffix upper
  chunklist coalesce coalescelist compact concat contains distinct element flatten index keys length
  lookup merge range reverse setintersection setproduct setunion slice sort values zipmap
  base64decode base64encode csvdecode jsondecode jsonencode urlencode yamldecode yamlencode
  bcrypt md5 rsadecrypt sha1 sha256 sha512
  abspath basename dirname file filebase64 fileexists fileset pathexpand
  formatdate timeadd
  uuidv4 uuidv5
  cidrhost cidrnetmask cidrsubnet cidrsubnets
  can try convert
`
const others = `
  regex regexall startswith endswith strcontains alltrue anytrue sum one matchkeys transpose
  tobool tonumber tostring tolist toset tomap setsubtract setsymmetricdifference
`
const wordsOf = (text: string) => text.trim().split(/\s+/)

test('there are the functions of the reference, the well-known others, and no more', () => {
  const names = [...jobFunctions({ files: undefined, random }).keys()]
  assert.deepEqual(names.toSorted(), [...wordsOf(listed), ...wordsOf(others)].toSorted())
})

test('the clock is there only when the time is given', () => {
  assert.ok(!jobFunctions({ files: undefined, random }).has('timestamp'))
  assert.ok(jobFunctions({ files: undefined, random, nowMs: 0 }).has('timestamp'))
})

test('no function throws or yields nonsense, whatever it is given', () => {
  const names = [...jobFunctions({ files: undefined, random, nowMs: 0 }).keys()]
  const cheap = names.filter((name) => name !== 'bcrypt')
  const literal = fc.oneof(
    fc.constantFrom(
      'null',
      'true',
      '[]',
      '{}',
      '""',
      '-1',
      '0',
      '1.5',
      '1e300',
      '12345678901234567890',
    ),
    fc.constantFrom(
      '[null]',
      '["a", 1]',
      '{a = null}',
      '[["x"]]',
      '{a = ["b"]}',
      '"%s%d%v"',
      '"10.0.0.0/8"',
    ),
    fc.constantFrom(
      '"("',
      '"a: [b"',
      '"2020-01-01T00:00:00Z"',
      '"\\u0000\\ud800"',
      '"{\\"a\\":1}"',
    ),
  )
  const argumentList = fc.array(literal, { maxLength: 4 })
  fc.assert(
    fc.property(fc.constantFrom(...cheap), argumentList, (name, args) => {
      const result = call(`${name}(${args.join(', ')})`)
      if (!result.ok) for (const { detail } of result.error) assert.ok(detail.endsWith('.'), detail)
    }),
    { numRuns: 3_000 },
  )
})
