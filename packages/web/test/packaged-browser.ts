import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

/** The browser of the development dependency `@sparticuz/chromium`, which is packed there. */
export interface PackagedBrowser {
  readonly program: string
  /** Its own libraries and fonts: a minimal machine has neither. */
  readonly environment: Readonly<Record<string, string>>
}

const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/reeve')
const ARCHIVES = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br', 'swiftshader.tar.br']

/** The directory of the package; undefined where it is not installed or not for this platform. */
export function findPackage(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  try {
    const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium')
    return dirname(dirname(entry))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND')
      return undefined
    throw error
  }
}

/** Unpacks it once, which takes some seconds. */
export async function unpackBrowser(packageFolder: string): Promise<PackagedBrowser> {
  const { version } = JSON.parse(fs.readFileSync(join(packageFolder, 'package.json'), 'utf8'))
  const folder = join(CACHE, `chromium-${version}-fonts`)
  if (!fs.existsSync(folder)) await unpackTo(folder, packageFolder)
  return {
    program: join(folder, 'chromium'),
    environment: {
      LD_LIBRARY_PATH: `${join(folder, 'al2023/lib')}:${folder}`,
      FONTCONFIG_PATH: join(folder, 'fonts'),
    },
  }
}

/** Renamed into place: of test files that unpack it at the same time each finds all of it. */
async function unpackTo(folder: string, packageFolder: string): Promise<void> {
  fs.mkdirSync(CACHE, { recursive: true })
  const draft = fs.mkdtempSync(`${folder}-`)
  const entry = pathToFileURL(join(packageFolder, 'build/index.js')).href
  const files = ARCHIVES.map((name) => join(packageFolder, 'bin', name))
  const script = `import { inflate } from ${JSON.stringify(entry)}
for (const file of ${JSON.stringify(files)}) await inflate(file)`
  // The package unpacks into the directory for temporary files, under names that others may take.
  const env = { ...process.env, TMPDIR: draft }
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })
  fs.writeFileSync(join(draft, 'fonts/fonts.conf'), fontSettings(folder))
  try {
    fs.renameSync(draft, folder)
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true })
    if (!fs.existsSync(folder)) throw error
  }
}

/**
 * The package's own settings name directories that exist only where it unpacks itself. Without any
 * font the browser ends when it draws its first text.
 */
function fontSettings(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts/fonts')}</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`
}
