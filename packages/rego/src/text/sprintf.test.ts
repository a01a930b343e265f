import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nodeCrypto } from '@reeve/kit/test/node-crypto.ts'
import { fromJson, type JsonValue } from '../value/json.ts'
import { isArray } from '../value/value.ts'
import { sprintf } from './sprintf.ts'

const context = {
  nowNs: 0n,
  crypto: nodeCrypto,
  random: () => 0,
  memory: new Map<string, unknown>(),
  note: () => undefined,
  testCase: () => undefined,
  charge: () => undefined,
  fail: () => undefined,
  failType: () => undefined,
  refuse: () => undefined,
}

function format(text: string, values: readonly JsonValue[]): string {
  const list = fromJson(values)
  return sprintf(context, text, isArray(list) ? list : [])
}

const BIG = 123456789123456789123n

// Output of the reference implementation for the same values.
const cases: readonly (readonly [string, readonly JsonValue[], string])[] = [
  ['%06s|%-6s|%06d|%+d|% d', ['ab', 'ab', -5, 5, 5], '0000ab|ab    |-00005|+5| 5'],
  ['%x|%X|%#x|%q', ['hi', 'hi', 255, 'a"b☺'], '6869|6869|0xff|"a\\"b☺"'],
  ['%q|%c|%U|%#U', [65, 65, 65, 9786], "'A'|A|U+0041|U+263A '☺'"],
  ['%t|%d|%5t', [true, 'x', true], '%!t(string=true)|%!d(string=x)|%!t(string= true)'],
  ['%v|%v|%v', [1.5, 0.00001, [1, 'a', { b: null }]], '1.5|1e-05|[1, "a", {"b": null}]'],
  [
    '%e|%f|%.2f|%8.3f|%-8.2f|',
    [1.5, 1.5, 2.675, 3.14259, 2.5],
    '1.500000e+00|1.500000|2.67|   3.143|2.50    |',
  ],
  ['%+.1f|%08.3f', [2.5, -3.14259], '+2.5|-003.143'],
  [
    '%d|%s|%v|%x|%q|%+d',
    [BIG, BIG, BIG, BIG, BIG, BIG],
    `${BIG}|${BIG}|${BIG}|6b14e9f9b0df36a83|%!q(big.Int=${BIG})|+${BIG}`,
  ],
  ['%d %d', [1], '1 %!d(MISSING)'],
  ['%d', [1, 'x', 2.5, BIG], `1%!(EXTRA string=x, float64=2.5, *big.Int=${BIG})`],
  ['%!|%z|%', [1], '%!!(int64=1)|%!z(MISSING)|%!(NOVERB)'],
  ['%[2]d %[1]d|%[3]d', [1, 2], '2 1|%!d(BADINDEX)'],
  ['%*d|%.*f', [5, 42, 1, 2.55], '   42|2.5'],
  ['%s|%d|%t', [5, 2.5, 3], '%!s(int64=5)|%!d(float64=2.5)|%!t(int64=3)'],
  [
    '%.3s|%.1q|%5.1s|%x|% x|%# X',
    ['héllo', 'héllo', 'héllo', 'héllo', 'abc', 'abc'],
    'hél|"h"|    h|68c3a96c6c6f|61 62 63|0X61 0X62 0X63',
  ],
  ['%6.2f%%|%3c|%-5q|%#q|%+q', [12.345, 65, 'a', 'a', '☺'], ' 12.35%|  A|"a"  |`a`|"\\u263a"'],
  ['%b|%o|%#o|%O|%#b|%b', [10, 8, 8, 8, 5, 2.5], '1010|10|010|0o10|0b101|5629499534213120p-51'],
  [
    '%.0f|%.0f|%G|%.3g|%10.3e|%x',
    [2.5, 0.5, 1e-10, 1234.5678, 12345.678, 1.5],
    '2|0|1E-10|1.23e+03| 1.235e+04|0x1.8p+00',
  ],
  ['%.10d|%08.4d|%x|%-05d|', [42, 42, -255, 3], '0000000042|    0042|-ff|3    |'],
]

for (const [text, values, wanted] of cases)
  test(`sprintf: ${text}`, () => assert.equal(format(text, values), wanted))

test('sprintf: any format and any values give a text', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom(
          '%',
          '[',
          ']',
          '1',
          '0',
          '.',
          '*',
          '+',
          '-',
          '#',
          ' ',
          ...'vsdqxefgtUcTbO!z',
        ),
      }),
      fc.array(
        fc.oneof(
          fc.string(),
          fc.integer(),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.boolean(),
        ),
      ),
      (text, values) => typeof format(text, values) === 'string',
    ),
  )
})
