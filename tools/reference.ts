import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DOCUMENT, replaceTable } from '../packages/reeve/src/main/config/documentation.ts'
import {
  LIMITS_DOCUMENT,
  replaceTables,
} from '../packages/reeve/src/main/config/limit-documentation.ts'
import { API_INDEX, apiPages } from './reference/api.ts'
import { CLI_INDEX, cliPages } from './reference/cli.ts'
import { DRIVERS_PAGE, driversPage } from './reference/drivers.ts'
import { functionsPage, FUNCTIONS_PAGE } from './reference/functions.ts'
import {
  JOB_FILE_INDEX,
  jobFilePages,
  VOLUME_FILE_PAGE,
  volumeFilePage,
} from './reference/job-file.ts'
import { MARK } from './reference/page.ts'
import { policyLanguagePages } from './reference/policy-languages.ts'
import { systemPages } from './reference/system.ts'

/**
 * Writes the generated pages of docs/reference from the tables of the program. `--check` writes
 * nothing, names the pages that differ, and fails when there are any.
 */
const ROOT = join(import.meta.dirname, '..')
const GENERATED_FOLDERS = ['job-file', 'cli', 'api']

async function main(): Promise<void> {
  const pages = await renderPages()
  const stray = obsoletePages(new Set(pages.keys()))
  const changed = [...pages].filter(([path, text]) => readPage(path) !== text)
  if (process.argv.includes('--check')) {
    const names = [...changed.map(([path]) => path), ...stray]
    if (names.length === 0) return
    console.error(`These pages are out of date. Run: npm run reference\n  ${names.join('\n  ')}`)
    process.exitCode = 1
    return
  }
  for (const path of stray) rmSync(join(ROOT, path))
  for (const [path, text] of changed) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true })
    writeFileSync(join(ROOT, path), text)
  }
}

async function renderPages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ...jobFilePages(readPage(JOB_FILE_INDEX)),
    [FUNCTIONS_PAGE, functionsPage()],
    [VOLUME_FILE_PAGE, volumeFilePage()],
    ...(await cliPages(readPage(CLI_INDEX))),
    ...apiPages(readPage(API_INDEX)),
    ...(await systemPages()),
    ...policyLanguagePages(),
    [DRIVERS_PAGE, driversPage(readPage(DRIVERS_PAGE))],
    ['docs/reference/configuration.md', replaceTable(readFileSync(DOCUMENT, 'utf8'))],
    ['docs/reference/limits.md', replaceTables(readFileSync(LIMITS_DOCUMENT, 'utf8'))],
  ])
}

/** Generated pages of what the program no longer has. */
function obsoletePages(known: ReadonlySet<string>): readonly string[] {
  return GENERATED_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, 'docs/reference', folder))
      .map((name) => `docs/reference/${folder}/${name}`)
      .filter((path) => !known.has(path) && readPage(path).includes(MARK)),
  )
}

function readPage(path: string): string {
  try {
    return readFileSync(join(ROOT, path), 'utf8')
  } catch {
    // A page that has not been generated yet.
    return ''
  }
}

await main()
