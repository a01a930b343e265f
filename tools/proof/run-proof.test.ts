import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { formatReport } from '../../packages/reeve/test/build/experiment.ts'
import { temporaryDirectory } from '../../packages/reeve/test/build/temporary-directory.ts'
import { REPOSITORY_ROOT } from '../source/finding.ts'
import type { ProofExperiment } from './experiments.ts'
import { planTime } from './plan.ts'
import { runExperiment, runProof } from './run-proof.ts'

const SEED = 77
const report = (fields: object): string =>
  `console.log(${JSON.stringify(formatReport({ counts: {}, ...fields }))})`

/** Scripts that end as an experiment may end. */
const SCRIPTS = {
  passes: `${report({ counts: { kills: 1 } })}
${report({ counts: { kills: 2 } })}
console.log(process.argv.slice(2).join(' '))`,
  fails: `${report({ counts: { kills: 3 } })}
console.log('half of a commit is missing')
process.exit(1)`,
  'names-its-command': `console.error('again: npm run sim -- --seed 12 --verbose')
process.exit(1)`,
  'is-not-run': report({ notRun: 'PostgreSQL is not installed' }),
  'does-nothing': '',
  hangs: 'setInterval(() => {}, 1_000)',
} as const

async function anExperiment(t: TestContext, name: keyof typeof SCRIPTS): Promise<ProofExperiment> {
  const file = join(await temporaryDirectory(t), `${name}.mjs`)
  await writeFile(file, SCRIPTS[name])
  return { name, claim: 'it holds', script: [file], weight: 1, secondsMin: 1, setUpSeconds: 0 }
}

const MACHINE = {
  cores: 1,
  processor: 'any',
  memoryGiB: 1,
  fileSystem: 'any',
  system: 'any',
  node: '26',
  postgres: undefined,
  load: 0,
}

async function prove(t: TestContext, ...names: readonly (keyof typeof SCRIPTS)[]) {
  const experiments = await Promise.all(names.map((name) => anExperiment(t, name)))
  const out = join(await temporaryDirectory(t), 'proof.md')
  const lines: string[] = []
  const status = await runProof(
    { minutes: 0.01, seed: SEED, experiments, out },
    {
      root: REPOSITORY_ROOT,
      place: { commit: 'c0ffee', isModified: false, machine: MACHINE },
      print: (line) => lines.push(line),
      signal: new AbortController().signal,
    },
  )
  return { status, output: lines.join('\n'), page: await readFile(out, 'utf8') }
}

test('proof: when every experiment passes, the status is 0 and the page has its counts', async (t) => {
  const { status, output, page } = await prove(t, 'passes')
  assert.equal(status, 0)
  assert.match(output, /\[1\/1\] passes: 1 s\n {2}passed in \d+ s; 2 kills/)
  assert.match(page, /\| `passes` \| passed \| 2 kills \| 77 \|/)
})

test('proof: a failure is shown with its output and the command that repeats it', async (t) => {
  const { status, output, page } = await prove(t, 'fails', 'passes')
  assert.equal(status, 1)
  assert.match(output, / {2}\| half of a commit is missing\n/)
  assert.match(output, /FAILED: it ended with status 1 in \d+ s; 3 kills/)
  const command = 'npm run proof -- --only fails --seed 77 --minutes 0.02'
  assert.ok(output.endsWith(`again: ${command}\npage: ${output.split('page: ').at(-1)}`), output)
  assert.ok(page.includes(`\`fails\` failed: it ended with status 1\n\n\`\`\`\n${command}\n`), page)
  assert.match(output, /1 passed, 1 failed in/, 'the others run all the same')
})

test('proof: an experiment that names the command itself is repeated by that', async (t) => {
  const { output } = await prove(t, 'names-its-command')
  assert.match(output, /^again: npm run sim -- --seed 12 --verbose$/m)
  assert.doesNotMatch(output, /--only/)
})

test('proof: an experiment that cannot run is no success', async (t) => {
  const { status, output, page } = await prove(t, 'is-not-run', 'passes')
  assert.equal(status, 1)
  assert.match(output, / {2}not run: PostgreSQL is not installed/)
  assert.match(page, /\*\*1 passed, 0 failed, 1 not run\*\*/)
})

test('proof: an experiment that reports nothing has shown nothing', async (t) => {
  const { status, output } = await prove(t, 'does-nothing')
  assert.equal(status, 1)
  assert.match(output, /FAILED: it ended without an error and did nothing/)
})

test('proof: an experiment that does not end is ended', async (t) => {
  const [planned] = planTime(1_000, [await anExperiment(t, 'hangs')])
  assert.ok(planned !== undefined)
  const { outcome } = await runExperiment(planned, {
    root: REPOSITORY_ROOT,
    seed: SEED,
    progress: () => undefined,
    complain: () => undefined,
    signal: new AbortController().signal,
    graceMs: 200,
  })
  assert.equal(outcome.kind, 'failed')
  assert.match(outcome.reason, /did not end within 1 s/)
})

test('proof: the command runs a real experiment and writes the page', async (t) => {
  const out = join(await temporaryDirectory(t), 'proof.md')
  const flags = ['--only', 'loss-simulation', '--minutes', '0.01', '--out', out]
  const child = spawn(process.execPath, ['tools/proof.ts', ...flags, '--seed', '5'], {
    cwd: REPOSITORY_ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(child.exitCode, 0, output)
  assert.match(output, /1 passed, 0 failed in .*, seed 5/)
  const page = await readFile(out, 'utf8')
  assert.match(page, /\| `loss-simulation` \| passed \| \d+ worlds, .* \| 5 \|/)
})
