import { setupTexts } from './build-stamp.ts'

/**
 * Entry point of the program. Until the command is known, it imports only modules of Node and a few
 * texts: `--version` must be fast, and a missing dependency must give a readable message.
 */
const NODE_MAJOR_MIN = 26
const FAILED = 1

/**
 * Allocator settings of the C library, which `bin/reeve` sets because they are read at process
 * start. They are removed here so that child processes do not inherit them.
 */
const ALLOCATOR_SETTINGS = {
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '4194304',
}

for (const [name, value] of Object.entries(ALLOCATOR_SETTINGS))
  if (process.env[name] === value) delete process.env[name]

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
    const sentence = `Reeve needs Node ${NODE_MAJOR_MIN} or newer; this is ${process.version}.`
    process.stderr.write(`${sentence} ${setupTexts.runtimeHint}\n`)
    return FAILED
  }
  try {
    return await run(args)
  } catch (thrown) {
    const missing = describeMissingModule(thrown)
    if (missing === undefined) throw thrown
    process.stderr.write(
      `Reeve is not complete: ${missing} is missing. ${setupTexts.missingPart}\n`,
    )
    return FAILED
  }
}

async function run(args: readonly string[]): Promise<number> {
  const [command = '', ...rest] = args
  const isJson = rest.length === 1 && rest[0] === '--json'
  if (['version', '--version'].includes(command) && (rest.length === 0 || isJson)) {
    const { describeVersion } = await import('./version.ts')
    process.stdout.once('error', endUnwritten)
    process.stdout.write(`${describeVersion(isJson)}\n`)
    return 0
  }
  if (command === 'agent') {
    const { restartForSmallMemory } = await import('./small-memory.ts')
    restartForSmallMemory()
  }
  // Jobs start it for every plan and apply: it loads no commands.
  if (command === 'run-phase' && rest.length === 0) {
    const { runPhaseOfEnvironment } = await import('./run-phase.ts')
    return await runPhaseOfEnvironment((text) => void process.stderr.write(text))
  }
  const { runCommandLine } = await import('./commands.ts')
  return await runCommandLine(args)
}

/** Reports an output error as commands do; the module is imported only then. */
function endUnwritten(thrown: Error): void {
  void import('../cli/index.ts').then((cli) => cli.handleOutputError(thrown))
}

/** The package or file that an import did not find. */
function describeMissingModule(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined
  if (thrown.code !== 'ERR_MODULE_NOT_FOUND') return undefined
  return /^Cannot find (\w+ '[^']+')/.exec(thrown.message)?.[1] ?? 'a part of it'
}
