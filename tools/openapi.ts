import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describeApi } from '../packages/reeve/src/main/api-document.ts'
import { loadConfig } from '../packages/reeve/src/main/config/load-config.ts'
import { readVersion } from '../packages/reeve/src/main/version.ts'

/**
 * Writes what the mounted routes say: `openapi.json`, which releases ship and git ignores, and the
 * signatures of the routes, which are committed. `--check` fails when the committed signatures are
 * others, and writes nothing.
 */
const DOCUMENT = fileURLToPath(new URL('../openapi.json', import.meta.url))
const SIGNATURES = fileURLToPath(new URL('../packages/contract/routes.txt', import.meta.url))

async function main(): Promise<void> {
  const loaded = loadConfig({
    flags: new Map([['dev', true]]),
    environment: {},
    configFiles: { files: [], problems: [] },
    host: {
      hostName: 'localhost',
      address: undefined,
      workingDirectory: '/',
      temporaryDirectory: '/nonexistent',
      isErrorTerminal: false,
    },
  })
  if (!loaded.ok)
    throw new Error(`the defaults are no configuration: ${JSON.stringify(loaded.error)}`)
  const { document, signatures } = await describeApi(loaded.value.config, readVersion())
  if (!process.argv.includes('--check')) {
    await writeFile(DOCUMENT, `${JSON.stringify(document)}\n`)
    await writeFile(SIGNATURES, signatures)
    return
  }
  const committed = await readFile(SIGNATURES, 'utf8').catch(() => '')
  if (committed === signatures) return
  console.error(differenceText(committed, signatures))
  process.exitCode = 1
}

/** More lines than this say no more than that much has changed. */
const LINES_SHOWN_MAX = 20

function differenceText(committed: string, now: string): string {
  const [before, after] = [committed.split('\n'), now.split('\n')]
  const [old, fresh] = [new Set(before), new Set(after)]
  const lines = [
    ...before.filter((line) => !fresh.has(line)).map((line) => `- ${line.trim()}`),
    ...after.filter((line) => !old.has(line)).map((line) => `+ ${line.trim()}`),
  ]
  return [
    'The public interface has changed. If that is intended, run: node tools/openapi.ts',
    'and commit packages/contract/routes.txt.',
    ...lines.slice(0, LINES_SHOWN_MAX),
    ...(lines.length > LINES_SHOWN_MAX ? [`… ${lines.length - LINES_SHOWN_MAX} more lines`] : []),
  ].join('\n')
}

await main()
