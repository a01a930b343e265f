/**
 * `npm run proof -- --minutes 20 [--seed S] [--only a,b] [--out FILE]`: repeats the experiments on
 * durability and recovery for so long and writes docs/proof.md.
 */
import { randomInt } from 'node:crypto'
import { EXPERIMENTS } from './proof/experiments.ts'
import { describeCheckout } from './proof/machine.ts'
import { parseOptions } from './proof/options.ts'
import { runProof } from './proof/run-proof.ts'
import { REPOSITORY_ROOT } from './source/finding.ts'

/** Short enough to be typed. */
const FRESH_SEED_MAX = 1_000_000_000

const parsed = parseOptions(process.argv.slice(2), EXPERIMENTS, () => randomInt(1, FRESH_SEED_MAX))
if (parsed.kind === 'run') {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => ending.abort())
  const print = (line: string): void => console.log(line)
  process.exitCode = await runProof(parsed.options, {
    root: REPOSITORY_ROOT,
    place: describeCheckout(REPOSITORY_ROOT),
    print,
    signal: ending.signal,
  })
} else if (parsed.kind === 'help') {
  console.log(parsed.text)
} else {
  console.error(parsed.reason)
  process.exitCode = 2
}
