import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Type, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import {
  AutoDestroyDuration,
  Email,
  Name,
  PROJECT_NAME_PATTERN,
  ProjectName,
  ReservedKey,
  TagKey,
  TagValue,
  validationMessage,
} from './patterns.ts'
import { NewTagBindings } from './tag-binding.ts'

// Project; Tag binding; Policy.
const texts: readonly {
  readonly name: string
  readonly schema: TSchema
  readonly right: readonly string[]
  readonly wrong: readonly string[]
}[] = [
  {
    name: 'project name',
    schema: ProjectName(),
    right: ['abc', 'a b', 'A Bob', '-_-', '1  2', 'x'.repeat(40)],
    wrong: ['', 'ab', ' abc', 'abc ', 'a\tb', 'a.b', 'äbc', 'abc\n', 'x'.repeat(41)],
  },
  {
    name: 'policy name',
    schema: Name('A name.'),
    right: ['a', 'A-b_9', 'x'.repeat(90)],
    wrong: ['', 'a b', 'a/b', 'a\n', 'é', 'x'.repeat(91)],
  },
  {
    name: 'tag key',
    schema: TagKey(),
    right: ['a', 'env', 'a_b.c=d+e-f@g:h', 'k'.repeat(128)],
    wrong: ['', ' env', 'env ', 'a b', 'a/b', 'é', 'k'.repeat(129)],
  },
  {
    name: 'tag value',
    schema: TagValue(),
    right: ['', 'prod', 'v'.repeat(256)],
    wrong: [' ', 'a b', 'v'.repeat(257)],
  },
  {
    name: 'auto-destroy duration',
    schema: AutoDestroyDuration(),
    right: ['1d', '14d', '9999h', '0001h', '10h'],
    wrong: [
      '',
      '0d',
      '0000h',
      '10000d',
      '20m',
      'd',
      '1',
      '-1d',
      '1.5d',
      '1 d',
      '1D',
      'bar',
      '1d\n',
    ],
  },
  {
    name: 'email',
    schema: Email(),
    right: ['a@b', 'first.last@example.test'],
    wrong: ['', 'a', '@b', 'a@', 'a@b@c', 'a b@c', `${'a'.repeat(260)}@b`],
  },
]

for (const { name, schema, right, wrong } of texts) {
  test(`${name}: right texts match and wrong ones do not`, () => {
    for (const value of right) assert.equal(Value.Check(schema, value), true, JSON.stringify(value))
    for (const value of wrong)
      assert.equal(Value.Check(schema, value), false, JSON.stringify(value))
  })
}

test('project name: the pattern agrees with the rule in words for any text', () => {
  const letters = 'abcXYZ019 _-.é'
  const name = fc.string({ unit: fc.constantFrom(...letters), maxLength: 45 })
  fc.assert(
    fc.property(name, (value) => {
      const allowed = [...value].every((each) => each !== '.' && each !== 'é')
      const inside = value.length >= 3 && value.length <= 40
      const trimmed = !value.startsWith(' ') && !value.endsWith(' ')
      assert.equal(Value.Check(ProjectName(), value), allowed && inside && trimmed)
    }),
  )
})

test('duration: the pattern agrees with the rule in words for any text', () => {
  const duration = fc.tuple(
    fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 6 }),
    fc.constantFrom('d', 'h', 'm', ''),
  )
  fc.assert(
    fc.property(duration, ([digits, unit]) => {
      const fits = digits.length >= 1 && digits.length <= 4 && Number(digits) > 0
      const right = fits && (unit === 'd' || unit === 'h')
      assert.equal(Value.Check(AutoDestroyDuration(), digits + unit), right)
    }),
  )
})

test('a hostile text is refused by its length or first wrong character, whatever its size', () => {
  const spaces = `a${' '.repeat(1_000_000)}!`
  for (const schema of [ProjectName(), TagKey(), AutoDestroyDuration(), Email()]) {
    assert.equal(Value.Check(schema, spaces), false)
  }
  // The pattern alone, without the length before it.
  assert.equal(Value.Check(Type.String({ pattern: PROJECT_NAME_PATTERN }), spaces), false)
})

test('a broken rule tells its own text, which clients look for', () => {
  assert.equal(
    validationMessage(AutoDestroyDuration(), 'pattern'),
    "has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
  )
  assert.match(validationMessage(ProjectName(), 'pattern') ?? '', /^may only contain/)
  assert.equal(validationMessage(ReservedKey(), 'pattern'), 'is invalid')
  const newBindings: { readonly data?: TSchema } = NewTagBindings().properties
  assert.equal(
    validationMessage(newBindings.data ?? Type.Never(), 'maxItems'),
    'cannot exceed 10 bindings per resource',
  )
})

test('a rule without a text of its own has none', () => {
  assert.equal(validationMessage(ProjectName(), 'maxLength'), undefined)
  assert.equal(validationMessage(ProjectName(), 'constructor'), undefined)
  assert.equal(validationMessage(Type.String(), 'pattern'), undefined)
})
