/**
 * `npm run build`: writes the program to packages/reeve/dist, the web UI to packages/web/dist and
 * compiles the task helper. `npm start` and `npm test` run it first, without `--force`: it then
 * builds only what is older than its sources. `--native`, `--web` and `--program` build that part
 * only, `--sanitize` the helper with the compiler's checks; the path of the result is printed.
 */
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { isProgramUpToDate, PROGRAM } from './build/paths.ts'
import { buildNative } from './build/native.ts'
import { buildWeb, isWebUpToDate } from './build/web.ts'
import { REPOSITORY_ROOT as root } from './source/finding.ts'

const { values: flags } = parseArgs({
  options: {
    force: { type: 'boolean', default: false },
    native: { type: 'boolean', default: false },
    sanitize: { type: 'boolean', default: false },
    web: { type: 'boolean', default: false },
    program: { type: 'boolean', default: false },
  },
})
const isAll = !flags.native && !flags.web && !flags.program

/** A server runs without the helper and the web UI, so `npm start` goes on without them. */
const results = {
  native: !(isAll || flags.native) || (await native()),
  web: !(isAll || flags.web) || (await web()),
  program: !(isAll || flags.program) || (await program()),
}
const isNeeded = flags.force || !isAll
if (!results.program || (isNeeded && (!results.native || !results.web))) process.exitCode = 1

async function native(): Promise<boolean> {
  const { sanitize } = flags
  const built = await buildNative(root, { sanitize })
  if (built !== undefined && flags.native) console.log(built)
  return built !== undefined
}

async function web(): Promise<boolean> {
  if (!flags.force && isWebUpToDate(root)) return true
  console.error('Building the web UI…')
  return await buildWeb(root)
}

async function program(): Promise<boolean> {
  if (flags.force || !isProgramUpToDate(root)) {
    console.error('Building the program…')
    try {
      // The bundler alone takes longer to load than the question above.
      const { bundleProgram } = await import('./build/bundle.ts')
      await bundleProgram(root)
    } catch (thrown) {
      // A source that does not parse, mostly: the message says where, the stack only speaks of us.
      const message = thrown instanceof Error ? thrown.message : String(thrown)
      console.error(`The program could not be built.\n${stripVTControlCharacters(message)}`)
      return false
    }
  }
  if (flags.program) console.log(PROGRAM)
  return true
}
