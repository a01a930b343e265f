import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { aCommandLine, type CommandLineBench, type CommandOptions } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'
import { startAgent } from '../e2e/program-process.ts'
import { until } from '../build/until.ts'

const PAGE = fileURLToPath(new URL('../../../../docs/reference/cli/README.md', import.meta.url))

interface Ending extends CommandOptions {
  readonly name: string
  readonly line: string | readonly string[]
  readonly code: number
}

/** One way to come to each code that a command ends with; the rest is below. */
const ENDINGS: readonly Ending[] = [
  { name: 'done', line: 'job status', code: 0 },
  { name: 'failed', line: 'job plan missing.hcl', code: 1 },
  { name: 'not understood', line: 'job runn', code: 2 },
  { name: 'something would change', line: 'job plan small.hcl', code: 3 },
  { name: 'no server', line: 'job status --address http://127.0.0.1:1', code: 4 },
  { name: 'no right', line: 'job status', code: 5, environment: { REEVE_TOKEN: '' } },
  { name: 'not there', line: 'job status nothing', code: 6 },
  { name: 'changed meanwhile', line: 'job run --check-index 9999 small.hcl', code: 7 },
  { name: 'denied by a policy', line: 'policy try never job.json', code: 8 },
  { name: 'no place', line: 'job run large.hcl', code: 9 },
]

const RULES = {
  'defined.rego': 'package a\n\nallow := true\n',
  'undefined.rego': 'package a\n\nallow if false\n',
  'failing.native': 'main = rule { input.missing.deeper is 1 }\n',
  'broken.native': 'main = rule {\n',
}

async function prepare(reeve: CommandLineBench, environment: Readonly<Record<string, string>>) {
  await reeve.file('small.hcl', aJobText({ id: 'small' }))
  await reeve.file('large.hcl', aJobText({ id: 'large', memoryMB: 9_000_000 }))
  await reeve.file('never.native', 'main = rule { false }\n')
  await reeve.file('job.json', '{"job": {}}')
  for (const [name, text] of Object.entries(RULES)) await reeve.file(name, text)
  await reeve.ok('org create acme --email ops@acme.example', { environment })
  await reeve.ok('policy create never.native', { environment })
}

/** Some costly job files: the answers to the last of them keep a server that stops for a while. */
async function askCostlyThings(address: string): Promise<void> {
  const JobHCL = 'job "slow" {\n meta = { a = length([for x in range(1000) : range(500)]) }\n}'
  const body = JSON.stringify({ JobHCL })
  const answers = Array.from({ length: COSTLY_THINGS }, () =>
    fetch(`${address}/v1/jobs/parse`, { method: 'POST', body }),
  )
  for (const answer of answers) answer.catch(() => undefined)
  await Promise.race(answers)
}

const COSTLY_THINGS = 8

test('exit codes', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t, ['--acl'])
  const { data: root } = await reeve.client.v1.bootstrapAcl({ body: {} })
  const environment = { REEVE_TOKEN: root.SecretID }
  await prepare(reeve, environment)
  const seen = new Set<number>()

  for (const { name, line, code, ...options } of ENDINGS)
    await t.test(`${code}: ${name}`, async () => {
      const ended = await reeve.spawn(line, { environment, ...options })
      assert.equal(ended.code, code, ended.out + ended.err)
      // Whatever is not simply done is told to people, not to who reads the answer.
      if (code > 0 && code !== 3 && code !== 8) assert.notEqual(ended.err, '')
      seen.add(code)
    })

  await t.test('130: left with Ctrl-C', async () => {
    const child = reeve.start('event stream', { environment })
    let isLeft = false
    child.stdout.on('data', () => {
      if (!isLeft) child.kill('SIGINT')
      isLeft = true
    })
    assert.equal((await child.ended).code, 130)
    seen.add(130)
  })

  await t.test('141: nobody reads the answer', async () => {
    const child = reeve.start('job init -')
    child.stdout.destroy()
    assert.equal((await child.ended).code, 141)
    seen.add(141)
  })

  const judged = [
    ['0: every policy is defined', 0, 'policy eval defined.rego --query data.a.allow'],
    ['2: a policy is undefined', 2, 'policy eval undefined.rego --query data.a.allow'],
    ['3: a policy ends with an error', 3, 'policy eval failing.native'],
    ['9: a policy cannot be compiled', 9, 'policy eval broken.native'],
  ] as const
  for (const [name, code, line] of judged)
    await t.test(`policy eval: ${name}`, async () => {
      const ended = await reeve.spawn(line, { input: '{}' })
      assert.equal(ended.code, code, ended.out + ended.err)
    })

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    await t.test(`${code}: an agent that is ended by a second ${signal}`, async (inner) => {
      const data = join(reeve.directory, `agent-${code}`)
      const agent = startAgent(inner, ['--dev', '--http-port', '0', '--data-dir', data])
      const address = await until('it to run', () => {
        return /API\s+(http:\S+)/.exec(agent.output())?.[1]
      })
      await askCostlyThings(address)
      await until('it to end', () => {
        // The first one is heard once; those that come right after it may be the same keypress.
        agent.child.kill(signal)
        return agent.child.exitCode ?? agent.child.signalCode ?? undefined
      })
      assert.equal(agent.child.exitCode, code, agent.output())
      seen.add(code)
    })

  await t.test('every code of docs/reference/cli/README.md was seen', async () => {
    const page = await readFile(PAGE, 'utf8')
    const [, rows = ''] = /^## Exit codes\n\n\| Code \|.*\n.*\n((?:\|.*\n)+)/m.exec(page) ?? []
    const codes = rows.split('\n').flatMap((row) => row.split('|')[1]?.match(/\d+/g) ?? [])
    assert.deepEqual(
      [...new Set(codes.map(Number))].filter((code) => !seen.has(code)),
      [],
    )
  })
})
