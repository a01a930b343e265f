/**
 * Builds the native helper `reeve-task` with the compiler of the system.
 *
 * The program lies at a path that holds the hash of what it was made from, so that a new one never
 * replaces one that runs; `reeve-task` beside it is a link to the newest.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'

const SOURCES = 'packages/reeve/native/src'
const CACHE = 'node_modules/.cache/reeve'
const WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Wconversion', '-Wshadow']
const BASE = ['-std=c11', '-D_GNU_SOURCE', '-fno-strict-overflow', '-fstack-protector-strong']
const COMPILE_MS_MAX = 120_000

/** The small static program first; one that needs the system's libraries is better than none. */
const PLAIN_COMPILERS = [
  {
    command: 'musl-gcc',
    // Its own folder lacks the kernel's headers, and its macros convert signs.
    flags: ['-O2', '-static', '-s', '-Wno-sign-conversion', ...kernelHeaders()],
  },
  { command: 'cc', flags: ['-O2', '-static', '-s'] },
  { command: 'cc', flags: ['-O2', '-s'] },
]
const SANITIZED_COMPILERS = [
  {
    command: 'cc',
    flags: [
      '-O1',
      '-g',
      '-fno-omit-frame-pointer',
      '-fsanitize=address,undefined',
      '-fno-sanitize-recover=all',
    ],
  },
]

/**
 * Where the program is after a successful build, which may have been an earlier one; undefined when
 * this machine cannot build it; `say` receives the reason.
 */
export async function buildNative(
  root: string,
  { sanitize = false, report = warn }: Partial<NativeOptions> = {},
): Promise<string | undefined> {
  if (process.platform !== 'linux') {
    report(`Tasks are isolated on Linux only; this is ${process.platform}.`)
    return undefined
  }
  if (listSources(root).length === 0) return undefined
  const target = path.join(root, CACHE, `reeve-task-${hashSources(root, sanitize)}`)
  if (!fs.existsSync(target) && !(await compile(root, target, { sanitize, report })))
    return undefined
  if (!sanitize) link(target)
  return target
}

interface NativeOptions {
  readonly sanitize: boolean
  readonly report: (sentence: string) => void
}

function kernelHeaders(): string[] {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  return ['-idirafter', '/usr/include', '-idirafter', `/usr/include/${machine}-linux-gnu`]
}

function hashSources(root: string, sanitize: boolean): string {
  const hash = createHash('sha256')
  hash.update(
    JSON.stringify([
      process.arch,
      BASE,
      WARNINGS,
      sanitize ? SANITIZED_COMPILERS : PLAIN_COMPILERS,
    ]),
  )
  for (const file of listSources(root)) {
    hash.update(path.basename(file)).update(fs.readFileSync(file))
  }
  return hash.digest('hex').slice(0, 16) + (sanitize ? '-sanitize' : '')
}

function listSources(root: string): string[] {
  const folder = path.join(root, SOURCES)
  if (!fs.existsSync(folder)) return []
  const files = fs.readdirSync(folder).filter((file) => /\.[ch]$/.test(file))
  return files.toSorted().map((file) => path.join(folder, file))
}

/** Tries one compiler after the other; the error is that of the last one installed. */
async function compile(
  root: string,
  target: string,
  { sanitize, report }: NativeOptions,
): Promise<boolean> {
  const files = listSources(root).filter((file) => file.endsWith('.c'))
  fs.mkdirSync(path.dirname(target), { recursive: true })
  const draft = `${target}.${process.pid}`
  report('Building the task helper…')
  let compilerError: string | undefined
  for (const { command, flags } of sanitize ? SANITIZED_COMPILERS : PLAIN_COMPILERS) {
    const failure = await run(command, [...BASE, ...WARNINGS, ...flags, ...files, '-o', draft])
    if (failure === undefined) {
      fs.renameSync(draft, target)
      return true
    }
    if (failure.code !== 'ENOENT') compilerError = failure.output
  }
  fs.rmSync(draft, { force: true })
  report(compilerError === undefined ? MISSING_COMPILER : `${BROKEN_COMPILER}\n${compilerError}`)
  return false
}

const CONSEQUENCE =
  'Servers run all the same; agents run tasks without isolation, terminals and limits. ' +
  'Afterwards run "npm run build -- --native".'
const MISSING_COMPILER =
  'There is no C compiler to build the task helper with (Debian: apt-get install gcc libc6-dev). ' +
  CONSEQUENCE
const BROKEN_COMPILER = `The C compiler could not build the task helper. ${CONSEQUENCE}`

interface Failure {
  readonly code: unknown
  readonly output: string
}

function run(command: string, args: readonly string[]): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: COMPILE_MS_MAX, maxBuffer: 1 << 20 }
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(undefined)
      else resolve({ code: error.code, output: `${stdout}${stderr}`.trimEnd() || error.message })
    })
  })
}

/** Renamed into place: there is always a program under this name. */
function link(target: string): void {
  const name = path.join(path.dirname(target), 'reeve-task')
  const draft = `${name}.${process.pid}`
  try {
    if (fs.readlinkSync(name) === path.basename(target)) return
  } catch {
    // Missing, or not a link: it is made now.
  }
  fs.rmSync(draft, { force: true })
  fs.symlinkSync(path.basename(target), draft)
  fs.renameSync(draft, name)
}

function warn(message: string): void {
  process.stderr.write(`${message}\n`)
}
