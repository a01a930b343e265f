import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { PROGRAM } from '../../test/build/program.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { readVersion } from './version.ts'

const ENTRY = fileURLToPath(new URL('reeve.ts', import.meta.url))

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Without the settings of whoever runs the tests. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('REEVE_')),
)

/** Starts the program as a user would. */
function start(args: readonly string[], options: { cwd?: string } = {}) {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  return spawn(process.execPath, [PROGRAM, ...args], { ...options, env, stdio: [...stdio] })
}

/** The same until it ends. */
async function reeve(args: readonly string[], options: { cwd?: string } = {}): Promise<Ended> {
  const child = start(args, options)
  const [out, err, [code]] = await Promise.all([
    readText(child.stdout),
    readText(child.stderr),
    once(child, 'close'),
  ])
  return { code, out, err }
}

const version = readVersion()
const { node } = process.versions
const { platform, arch } = process

const saidCases = [
  { args: ['version'], out: `reeve ${version} (checkout, node ${node}, ${platform} ${arch})\n` },
  { args: ['--version'], out: `reeve ${version} (checkout, node ${node}, ${platform} ${arch})\n` },
  { args: ['version', '--json'], out: `${JSON.stringify({ version, node, platform, arch })}\n` },
]

for (const { args, out } of saidCases)
  test(`reeve ${args.join(' ')}: is answered on standard output`, async () => {
    assert.deepEqual(await reeve(args), { code: 0, out, err: '' })
  })

for (const args of [['version'], ['version', '--json'], ['--help'], ['help']]) {
  test(`reeve ${args.join(' ')}: a full disk is reported in one line, exit code 1`, async (t) => {
    const full = await open('/dev/full', 'w')
    t.after(() => full.close())
    const stdio = ['ignore', full.fd, 'pipe'] as const
    const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: [...stdio] })
    assert.ok(child.stderr)
    const [err, [code]] = await Promise.all([readText(child.stderr), once(child, 'close')])
    assert.equal(err, 'reeve: the output cannot be written: no space left on device.\n')
    assert.equal(code, 1)
  })

  test(`reeve ${args.join(' ')}: ends silently when its output is closed, exit code 141`, async () => {
    const child = start(args)
    child.stdout.destroy()
    const [err, [code]] = await Promise.all([readText(child.stderr), once(child, 'close')])
    assert.deepEqual([code, err], [141, ''])
  })
}

for (const path of [
  [],
  ['agent'],
  ['config'],
  ['config', 'validate'],
  ['policy', 'test'],
  ['version'],
])
  test(`reeve ${[...path, '--help'].join(' ')}: shows usage and examples`, async () => {
    const { code, out, err } = await reeve([...path, '--help'])
    assert.equal(code, 0)
    assert.equal(err, '')
    assert.ok(out.startsWith(`Usage: ${['reeve', ...path].join(' ')} `), out)
    assert.match(out, /\nExamples:\n {2}reeve /)
  })

test('reeve agent --help: lists the flags that the agent takes', async () => {
  const { out } = await reeve(['agent', '--help'])
  const listed = [...out.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag)
  assert.deepEqual(listed, [
    '--config',
    '--dev',
    '--server',
    '--client',
    '--region',
    '--datacenter',
    '--node-name',
    '--data-dir',
    '--bind',
    '--http-port',
    '--database',
    '--join',
    '--acl',
    '--log-level',
    '--log-json',
    '--plain-http',
  ])
})

const usageCases = [
  {
    args: ['agnet'],
    says: [
      'reeve: unknown command "reeve agnet". Did you mean "reeve agent"?',
      'Run "reeve --help" for a list of commands.',
    ],
  },
  {
    args: ['agent', '--dve'],
    says: ["reeve: unknown option '--dve'. Did you mean --dev?", nextStep('reeve agent')],
  },
  {
    args: ['agent', '--http-port'],
    says: ["reeve: option '--http-port <N>' argument missing.", nextStep('reeve agent')],
  },
  {
    args: ['config', 'validate'],
    says: ["reeve: missing required argument 'PATH'.", nextStep('reeve config validate')],
  },
  {
    args: ['version', 'again'],
    says: [
      "reeve: too many arguments for 'version'. Expected 0 arguments but got 1: again.",
      nextStep('reeve version'),
    ],
  },
  {
    args: ['agent', '--dev', '--http-port', 'x', '--log-level', 'loud'],
    says: [
      '--http-port must be a whole number from 0 to 65535, but it is "x".',
      '',
      '--log-level must be one of debug, info, warn, error, but it is "loud".',
    ],
  },
]

function nextStep(command: string): string {
  return `Run "${command} --help" for usage.`
}

for (const { args, says } of usageCases)
  test(`reeve ${args.join(' ')}: suggests a remedy, exit code 2`, async () => {
    assert.deepEqual(await reeve(args), { code: 2, out: '', err: `${says.join('\n')}\n` })
  })

test('reeve: without a command shows what there is, exit code 2', async () => {
  const { code, out, err } = await reeve([])
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /^Usage: reeve /)
})

test('reeve agent --dev: refuses an address that others can reach', async () => {
  const { code, err } = await reeve(['agent', '--dev', '--bind', '0.0.0.0'])
  assert.equal(code, 2)
  assert.match(err, /^--bind is 0\.0\.0\.0, but --dev listens on loopback only/)
})

test('reeve agent: reports all problems of its files, exit code 1', async (t) => {
  const cwd = await temporaryDirectory(t)
  await writeFile(join(cwd, 'a.hcl'), 'regoin = "eu"\n')
  const args = ['agent', '--dev', '--config', 'a.hcl', '--config', 'none.hcl']
  assert.deepEqual(await reeve(args, { cwd }), {
    code: 1,
    out: '',
    err: [
      'none.hcl: There is no such file or directory.',
      '',
      'a.hcl:1,1-7: There is no setting "regoin". Did you mean "region"?',
      '  1 | regoin = "eu"',
      '    | ^~~~~~',
      '',
    ].join('\n'),
  })
})

test('reeve config validate: says what is right, and what an agent still needs', async (t) => {
  const cwd = await temporaryDirectory(t)
  await mkdir(join(cwd, 'conf.d'))
  await writeFile(join(cwd, 'conf.d', 'a.hcl'), 'server { enabled = true }\n')
  await writeFile(join(cwd, 'conf.d', 'b.json'), '{"region": "eu"}')
  const said = await reeve(['config', 'validate', 'conf.d'], { cwd })
  assert.deepEqual([said.code, said.err], [0, ''])
  assert.match(
    said.out,
    /^The configuration is valid \(2 files\)\.\nNot in it yet: The data needs a place/,
  )
  const { code, out } = await reeve(['config', 'validate', '--json', 'conf.d'], { cwd })
  const { missing, ...rest } = JSON.parse(out)
  const files = [join('conf.d', 'a.hcl'), join('conf.d', 'b.json')]
  assert.deepEqual([code, rest], [0, { valid: true, files, problems: [] }])
  assert.equal(missing.length, 1)
})

test('reeve config validate: says what is wrong, exit code 1', async (t) => {
  const cwd = await temporaryDirectory(t)
  await writeFile(join(cwd, 'a.hcl'), 'ports {\n  http = 70000\n}\nlog_json = 3\n')
  assert.deepEqual(await reeve(['config', 'validate', 'a.hcl'], { cwd }), {
    code: 1,
    out: '',
    err: [
      'a.hcl:2,10-15: ports.http must be a whole number from 0 to 65535.',
      '  2 |   http = 70000',
      '    |          ^~~~~',
      '',
      'a.hcl:4,12-13: log_json must be true or false.',
      '  4 | log_json = 3',
      '    |            ^',
      '',
      '2 problems.',
      '',
    ].join('\n'),
  })
  const { code, out, err } = await reeve(['config', 'validate', '--json', 'a.hcl'], { cwd })
  assert.deepEqual([code, err], [1, ''])
  assert.deepEqual(JSON.parse(out), {
    valid: false,
    files: ['a.hcl'],
    problems: [
      {
        file: 'a.hcl',
        line: 2,
        column: 10,
        message: 'ports.http must be a whole number from 0 to 65535.',
      },
      { file: 'a.hcl', line: 4, column: 12, message: 'log_json must be true or false.' },
    ],
    missing: [],
  })
})

test('reeve: a missing set-up is one sentence', async (t) => {
  const root = await temporaryDirectory(t)
  const entry = join(root, 'reeve.ts')
  await writeFile(entry, await readFile(ENTRY))
  const texts = fileURLToPath(new URL('build-stamp.ts', import.meta.url))
  await writeFile(join(root, 'build-stamp.ts'), await readFile(texts))
  await writeFile(join(root, 'package.json'), '{"type": "module"}')
  await writeFile(join(root, 'commands.ts'), "import 'commander-that-is-not-there'\n")
  const child = spawn(process.execPath, [entry, 'job'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const [err, [code]] = await Promise.all([readText(child.stderr), once(child, 'close')])
  assert.equal(code, 1)
  assert.equal(
    err,
    "Reeve is not complete: package 'commander-that-is-not-there' is missing. " +
      'Run "npm start" or "bin/reeve" in its directory once.\n',
  )
})

test('reeve agent --dev: runs until it is told to stop, and leaves nothing behind', async (t) => {
  const child = start(['agent', '--dev', '--http-port', '0'])
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'close')
  const logged = readText(child.stderr)
  const banner = await readUntil(child.stdout, /reeve top\n/)
  const [, address = ''] = /API +(http:\S+)/.exec(banner) ?? []
  const [, token = ''] = /Authorization: Bearer (\S+)/.exec(banner) ?? []
  const [, directory = ''] = /Data +(\S+)/.exec(banner) ?? []
  const [, tokenFile = ''] = /also in (\S+)/.exec(banner) ?? []
  assert.equal((await readFile(tokenFile, 'utf8')).trim(), token)
  assert.equal((await stat(tokenFile)).mode & 0o777, 0o600)
  assert.equal((await fetch(`${address}/docs`)).status, 200)

  const { port } = new URL(address)
  const second = await reeve(['agent', '--dev', '--http-port', port])
  assert.deepEqual([second.code, second.out], [1, ''])
  assert.equal(
    JSON.parse(second.err).message,
    `Port ${port} of 127.0.0.1 is in use, perhaps by another agent. Stop that one, or choose ` +
      'another port with --http-port.',
  )

  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  assert.ok(!(await logged).includes(token))
  await assert.rejects(stat(directory), { code: 'ENOENT' })
})

/** What a stream gave up to and including the pattern; everything when it ends before. */
async function readUntil(stream: Readable, pattern: RegExp): Promise<string> {
  let said = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    said += String(chunk)
    if (pattern.test(said)) break
  }
  return said
}
