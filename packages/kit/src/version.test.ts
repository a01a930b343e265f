import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareVersions, parseVersion, type VersionSyntax } from './version.ts'

/** Whether each syntax accepts the text, in the order semver, short, lenient, loose. */
const readable: readonly (readonly [text: string, answers: string])[] = [
  ['1.2.3', 'yes yes yes yes'],
  ['v1.2.3', 'yes yes yes yes'],
  ['1.2', 'no yes yes yes'],
  ['1.2.3.4', 'no no no yes'],
  ['01.2.3', 'no yes yes yes'],
  ['1.2.3-rc.1+b.5', 'yes yes yes yes'],
  ['1.2.3-rc.01', 'no yes yes yes'],
  ['1.2.3-a..b', 'no no yes no'],
  ['1.2.3-a~1', 'no yes no yes'],
  ['1.2rc1', 'no no no yes'],
  ['5.10.0-28-amd64', 'yes yes yes yes'],
  ['1.2.3+a+b', 'no no no no'],
  ['1.2.3+', 'no no no no'],
  ['1.2.3-', 'no no no no'],
  ['9223372036854775807.0.0', 'yes no no no'],
  ['9223372036854775808.0.0', 'no no no no'],
  ['1234567890.0.0', 'yes yes no yes'],
  ['', 'no no no no'],
  ['v', 'no no no no'],
  ['1.', 'no no no no'],
]
const SYNTAXES: readonly VersionSyntax[] = ['semver', 'short', 'lenient', 'loose']
for (const [text, answers] of readable)
  test(`version: "${text}" is valid in the syntaxes: ${answers}`, () => {
    const found = SYNTAXES.map((syntax) => (parseVersion(text, syntax) ? 'yes' : 'no'))
    assert.equal(found.join(' '), answers)
  })

test('version: the parts are parsed', () => {
  assert.deepEqual(parseVersion('v1.2-rc.1+b5', 'short'), {
    segments: [1, 2, 0],
    segmentsGiven: 2,
    prerelease: ['rc', '1'],
    metadata: 'b5',
  })
})

test('version: sorting keeps the order of a sorted list', () => {
  const ordered = [
    '0.9.9',
    '1.0.0-1',
    '1.0.0-2',
    '1.0.0-10',
    '1.0.0-99999999999999999998',
    '1.0.0-99999999999999999999',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-beta',
    '1.0.0',
    '1.0.1',
    '1.10.0',
    '9007199254740993.0.0',
    '9007199254740994.0.0',
  ].map((text) => {
    const version = parseVersion(text, 'semver')
    assert.ok(version, text)
    return version
  })
  for (const [i, a] of ordered.entries())
    for (const [j, b] of ordered.entries())
      assert.equal(compareVersions(a, b), Math.sign(i - j), `${i} and ${j}`)
})
