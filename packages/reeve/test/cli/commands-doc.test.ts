import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createClient } from '@reeve/sdk'
import { COMMANDS } from '../../src/cli/commands.ts'
import { LOCAL_COMMANDS } from '../../src/cli/completion/completion.ts'
import { EXIT_CODES } from '../../src/cli/errors.ts'
import { aCommandLine, type CommandLineBench, type CommandOptions } from '../build/cli.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const SOURCE = join(ROOT, 'packages/reeve/src/cli')
const page = await readFile(join(ROOT, 'docs/reference/cli/README.md'), 'utf8')

function isOf(usage: string, path: string): boolean {
  return usage === path || usage.startsWith(`${path} `)
}

test('docs/reference/cli/README.md: every exit code is explained', () => {
  const [, ...table] = /^## Exit codes\n\n\| Code \|.*\n.*\n((?:\|.*\n)+)/m.exec(page) ?? []
  const codes = (table[0] ?? '')
    .split('\n')
    .flatMap((row) => row.split('|')[1]?.match(/\d+/g) ?? [])
  for (const code of Object.values(EXIT_CODES)) assert.ok(codes.includes(String(code)), `${code}`)
})

test('docs/reference/cli/README.md: every variable of the environment that commands read is there', async () => {
  const files = await readdir(SOURCE, { recursive: true })
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const texts = await Promise.all(sources.map((file) => readFile(join(SOURCE, file), 'utf8')))
  const names = texts.flatMap((text) => [...text.matchAll(/environment\['(\w+)'\]/g)])
  assert.ok(names.length > 5)
  for (const [, name = ''] of names) assert.ok(page.includes(`\`${name}\``), name)
})

test('docs/reference/cli/README.md: flags and commands in examples exist', () => {
  const lines = [...page.matchAll(/`reeve ([^`]+)`/g)].map(([, line = '']) => line)
  const paths = [...COMMANDS, ...LOCAL_COMMANDS].map(({ path }) => path)
  const groups = paths.flatMap((path) =>
    path.split(' ').map((_, i, all) => all.slice(0, i).join(' ')),
  )
  assert.ok(lines.length > 10)
  for (const line of lines)
    assert.ok(
      [...paths, ...groups].some((path) => path !== '' && isOf(line, path)),
      line,
    )
})

/** The lines of the `shell` blocks of a page, as words. */
async function shellLines(name: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(join(ROOT, 'docs/how-to', name), 'utf8')
  const blocks = [...text.matchAll(/^```shell\n([^]*?)^```$/gm)]
  const lines = blocks.flatMap(([, block = '']) => block.trim().split('\n'))
  return lines.map((line) =>
    (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', '')),
  )
}

test('docs/how-to/use-the-governance-api.md, docs/how-to/write-and-test-policies.md: the command lines work', async (t) => {
  const reeve = await aCommandLine(t)
  const policies = await readFile(join(ROOT, 'docs/how-to/write-and-test-policies.md'), 'utf8')
  const [, native = ''] = /^```\n(# limits\.native[^]*?)^```$/m.exec(policies) ?? []
  const [, document = ''] = /^```json\n([^]*?)^```$/m.exec(policies) ?? []
  await reeve.file('limits.native', native)
  await reeve.file('job.json', document)
  await reeve.file('policy.rego', 'package deploys\n\nallow := input.weekday != "friday"\n')
  for (const name of ['use-the-governance-api.md', 'write-and-test-policies.md']) {
    const lines = await shellLines(name)
    assert.ok(lines.length > 5, name)
    for (const [program, ...args] of lines) {
      assert.equal(program, 'reeve')
      const { code, out, err } = await reeve.run(args)
      // The document of the page has more instances than the policy lets pass by itself.
      const wanted = args[1] === 'try' ? EXIT_CODES.refusedByPolicy : EXIT_CODES.ok
      assert.equal(code, wanted, `${args.join(' ')}: ${out}${err}`)
    }
  }
})

interface Mistake {
  readonly title: string
  readonly code: number
  readonly command: string
  readonly output: string
}

function mistakes(): readonly Mistake[] {
  const blocks = page.matchAll(/^\*\*(.+)\*\* \((\d+)\)\n\n```text\n\$ reeve (.*)\n([^]*?)^```$/gm)
  return [...blocks].map(([, title = '', code, command = '', output = '']) => {
    return { title, code: Number(code), command, output }
  })
}

/** With a datacenter that there is not, nothing of it ever runs. */
function jobFile(id: string, { memoryMB = 20, datacenter = '*' } = {}): string {
  const task = `task "wait" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["600"]
      }
      resources {
        cpu    = 20
        memory = ${memoryMB}
      }
    }`
  const where = `datacenters = ["${datacenter}"]`
  return `job "${id}" {\n  ${where}\n  group "app" {\n    ${task}\n  }\n}\n`
}

const AWAY = { datacenter: 'elsewhere' }

const LIMIT = `main = rule {
  all job.task_groups as group { all group.tasks as task { task.resources.memory_mb <= 1000 } }
}
`

/** What the mistakes are made with: jobs in two namespaces, one of them guarded, and files. */
async function prepare(reeve: CommandLineBench, asRoot: CommandOptions): Promise<void> {
  const run = (line: string, input = '') => reeve.ok(line, { ...asRoot, input })
  await reeve.file('web.hcl', jobFile('web'))
  await reeve.file('large.hcl', jobFile('large', { memoryMB: 9_000_000 }))
  await reeve.file('broken.hcl', jobFile('web').replace('driver', 'drivr'))
  await reeve.file('small.native', LIMIT)
  await run('namespace apply guarded')
  for (const id of ['web', 'web-two', 'web-three'])
    await run('job run --detach --json -', jobFile(id, AWAY))
  await run('job run --detach --json --namespace guarded -', jobFile('hidden', AWAY))
  await run('org create acme --email ops@acme.example')
  await run('policy-set create limits --jobs-of guarded')
  await run('policy create small.native --level hard-mandatory --set limits')
}

const CHANGING = [
  [/\b[0-9a-f]{8}\b/g, 'ID'],
  [/index: \d+/g, 'index: INDEX'],
] as const

function settled(text: string): string {
  return CHANGING.reduce((changed, [pattern, name]) => changed.replaceAll(pattern, name), text)
}

test('docs/reference/cli/README.md: mistakes end as the page says', async (t) => {
  const reeve = await aCommandLine(t, ['--acl'])
  const { data: root } = await reeve.client.v1.bootstrapAcl({ body: {} })
  const asRoot = { environment: { REEVE_TOKEN: root.SecretID } }
  await prepare(reeve, asRoot)
  const client = createClient({ address: reeve.address, token: root.SecretID })
  const rules = { Name: 'readers', Rules: 'namespace "default" { policy = "read" }' }
  await client.v1.writeAclPolicy({ params: { policy_name: 'readers' }, body: rules })
  const body = { Type: 'client', Policies: ['readers'] } as const
  const { data: reader } = await client.v1.createAclToken({ body })
  const as: Readonly<Record<string, CommandOptions>> = {
    'The token is missing': {},
    'The token lacks a capability': { environment: { REEVE_TOKEN: reader.SecretID } },
  }
  assert.ok(mistakes().length >= 10)
  for (const { title, code, command, output } of mistakes()) {
    await t.test(title, async () => {
      const ended = await reeve.run(command, as[title] ?? asRoot)
      assert.equal(settled(ended.out + ended.err), settled(output))
      assert.equal(ended.code, code)
    })
  }
})
