import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXPERIMENTS } from './experiments.ts'
import { PAGE, parseOptions, type ParsedOptions } from './options.ts'

const FRESH = 4_711
const parse = (...args: readonly string[]): ParsedOptions =>
  parseOptions(args, EXPERIMENTS, () => FRESH)

function optionsOf(...args: readonly string[]) {
  const parsed = parse(...args)
  assert.equal(parsed.kind, 'run')
  return parsed.options
}

test('proof: by default every experiment runs for 20 minutes with a fresh seed', () => {
  const expected = { minutes: 20, seed: FRESH, experiments: EXPERIMENTS, out: PAGE }
  assert.deepEqual(optionsOf(), expected)
})

test('proof: length, seed, experiments and page can be chosen', () => {
  const options = optionsOf('--minutes=0.5', '--seed=7', '--only=damage, simulation', '--out=x.md')
  const names = options.experiments.map(({ name }) => name)
  assert.deepEqual(
    { ...options, experiments: names },
    {
      minutes: 0.5,
      seed: 7,
      experiments: ['damage', 'simulation'],
      out: 'x.md',
    },
  )
})

test('proof: a part of the experiments does not overwrite the page of all', () => {
  assert.equal(optionsOf('--only', 'damage').out, undefined)
})

const invalid = [
  { args: ['--minutes', '0'], reason: /--minutes must be above 0 and at most 10080\./ },
  { args: ['--minutes', '10081'], reason: /--minutes must be/ },
  { args: ['--minutes', 'soon'], reason: /--minutes must be/ },
  { args: ['--seed', '0'], reason: /--seed must be a whole number from 1 to 2147483646\./ },
  { args: ['--seed', '2147483647'], reason: /--seed must be/ },
  { args: ['--seed', '1.5'], reason: /--seed must be/ },
  { args: ['--only', 'kills'], reason: /no experiment "kills"[^]*Experiments: engine-kills, / },
  { args: ['--fast'], reason: /Unknown option '--fast'[^]*Usage: npm run proof/ },
] as const
for (const { args, reason } of invalid)
  test(`proof: ${args.join(' ')} is rejected with the reason and the usage`, () => {
    const parsed = parse(...args)
    assert.equal(parsed.kind, 'invalid')
    assert.match(parsed.reason, reason)
  })

test('proof: the largest values are accepted, and --help is no error', () => {
  assert.equal(optionsOf('--minutes', '10080').minutes, 10_080)
  assert.equal(optionsOf('--seed', '2147483646').seed, 2_147_483_646)
  assert.equal(parse('--help').kind, 'help')
})
