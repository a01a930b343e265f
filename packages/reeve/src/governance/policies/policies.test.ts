import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveEnforcementLevel, type EnforcementInput } from './policies.ts'

const native = { name: 'p', kind: 'native' } as const
const opa = { name: 'p', kind: 'opa' } as const
const NATIVE_LEVELS = 'hard-mandatory, soft-mandatory, advisory'

/** A string is the expected error message. */
const CASES: readonly {
  readonly name: string
  readonly wish: Omit<EnforcementInput, 'level' | 'enforce'> & Partial<EnforcementInput>
  readonly gives: string | undefined
}[] = [
  {
    name: 'the level alone is the level',
    wish: { ...native, level: 'soft-mandatory' },
    gives: 'soft-mandatory',
  },
  {
    name: 'a level of the other kind is refused',
    wish: { ...native, level: 'mandatory' },
    gives: `Enforcement level must be one of ${NATIVE_LEVELS}`,
  },
  {
    name: 'an opa policy knows no soft level',
    wish: { ...opa, level: 'soft-mandatory' },
    gives: 'Enforcement level must be one of mandatory, advisory',
  },
  {
    name: 'enforce with the path of the file gives its mode',
    wish: { ...native, enforce: [{ path: 'p.native', mode: 'advisory' }] },
    gives: 'advisory',
  },
  {
    name: 'the file of an opa policy ends in rego',
    wish: { ...opa, enforce: [{ path: 'p.rego', mode: 'mandatory' }] },
    gives: 'mandatory',
  },
  {
    name: 'a mode of the other kind is refused',
    wish: { ...native, enforce: [{ path: 'p.native', mode: 'mandatory' }] },
    gives: `Mode must be one of ${NATIVE_LEVELS}`,
  },
  ...[{ path: 'q.native' }, { path: '' }, { path: null }, {}, { path: 'P.native' }].map(
    (entry) => ({
      name: `the path ${JSON.stringify(entry.path)} gives a native policy the hardest level`,
      wish: { ...native, enforce: [{ ...entry, mode: 'advisory' as const }] },
      gives: 'hard-mandatory',
    }),
  ),
  {
    name: 'a path of another file gives an opa policy the softest level',
    wish: { ...opa, enforce: [{ path: 'p.native', mode: 'mandatory' }] },
    gives: 'advisory',
  },
  {
    name: 'of many entries the one of the file counts',
    wish: {
      ...native,
      enforce: [
        { path: 'q.native', mode: 'hard-mandatory' },
        { path: 'p.native', mode: 'soft-mandatory' },
      ],
    },
    gives: 'soft-mandatory',
  },
  {
    name: 'of many entries of other files none counts',
    wish: {
      ...native,
      enforce: [
        { path: 'q.native', mode: 'advisory' },
        { path: 'r.native', mode: 'advisory' },
      ],
    },
    gives: 'hard-mandatory',
  },
  { name: 'an empty enforce says nothing', wish: { ...native, enforce: [] }, gives: undefined },
  {
    name: 'an empty enforce beside a level says nothing',
    wish: { ...native, level: 'advisory', enforce: [] },
    gives: 'advisory',
  },
  {
    name: 'both are taken when they agree',
    wish: {
      ...native,
      level: 'advisory',
      enforce: [{ path: 'p.native', mode: 'advisory' }],
    },
    gives: 'advisory',
  },
  {
    name: 'both are refused when they do not',
    wish: {
      ...native,
      level: 'soft-mandatory',
      enforce: [{ path: 'p.native', mode: 'advisory' }],
    },
    gives: 'Enforcement level is soft-mandatory, but enforce says otherwise',
  },
  {
    name: 'what counts beside a level is what enforce results in',
    wish: {
      ...native,
      level: 'advisory',
      enforce: [{ path: 'q.native', mode: 'advisory' }],
    },
    gives: 'Enforcement level is advisory, but enforce says otherwise',
  },
  { name: 'neither says nothing', wish: native, gives: undefined },
]
for (const { name, wish, gives } of CASES)
  test(`decideLevel: ${name}`, () => {
    const found = resolveEnforcementLevel({ level: undefined, enforce: undefined, ...wish })
    assert.equal(found.ok ? found.value : found.error.detail, gives)
  })
