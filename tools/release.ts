/**
 * `npm run release -- VERSION [--out DIR] [--key FILE]`: builds every form of a release from the
 * commit that is checked out. Two builds of one commit give the same bytes.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { REPOSITORY_ROOT as root } from './source/finding.ts'
import { createTar, xz } from './release/archive.ts'
import { debName, debOf } from './release/deb.ts'
import { buildInstallation, type Built } from './release/installation.ts'
import { libraryPackages } from './release/libraries.ts'
import { helperPackage, programPackage } from './release/npm.ts'
import { imageOf, nodeImage, serverImage } from './release/oci.ts'
import { rpmName, rpmOf } from './release/rpm.ts'
import { missingTools } from './release/runtime.ts'
import { publicKeyLine, readKey, signatureText } from './release/sign.ts'
import { systemPackage } from './release/system-package.ts'

const { values: flags, positionals } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist' },
    key: { type: 'string' },
    only: { type: 'string', default: 'tarball,deb,rpm,images,npm' },
  },
  allowPositionals: true,
})
const [version] = positionals
const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/
if (version === undefined || !VERSION.test(version)) {
  console.error(
    'Usage: npm run release -- VERSION [--out DIR] [--key FILE] [--only tarball,deb,rpm,images,npm]',
  )
  process.exit(2)
}
const missing = missingTools()
if (missing.length > 0) {
  console.error(`A release is not built with other tools:\n${missing.join('\n')}`)
  process.exit(1)
}
process.umask(0o022)
process.env['TZ'] = 'UTC'
process.env['LC_ALL'] = 'C'
await release(version, resolve(flags.out))

async function release(of: string, out: string): Promise<void> {
  const commit = git('rev-parse', 'HEAD')
  const epoch = Number(git('log', '-1', '--format=%ct'))
  if (git('status', '--porcelain') !== '')
    console.error(
      'There are changes that are not committed: they are in this build, and in no other.',
    )
  fs.mkdirSync(out, { recursive: true })
  const work = fs.mkdtempSync(join(makeWorkFolder(), 'release-'))
  try {
    const folder = join(work, 'installation')
    fs.mkdirSync(folder)
    const target = { platform: 'linux', arch: 'x64' } as const
    const built = await buildInstallation(root, folder, { version: of, commit, epoch, target })
    const files = writeForms(built, join(work, 'libraries'), out)
    writeSums(files, out, built)
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
}

/** Inside the checkout: source maps name sources relative to where they are written. */
function makeWorkFolder(): string {
  const folder = join(root, 'node_modules/.cache/reeve')
  fs.mkdirSync(folder, { recursive: true })
  return folder
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

function writeForms(built: Built, work: string, out: string): string[] {
  const { stamp, entries } = built
  const { platform, arch } = stamp.target
  const name = `reeve-${stamp.version}-${platform}-${arch}`
  const written: string[] = []
  const wanted = new Set(flags.only.split(','))
  const write = (file: string, data: Buffer | string): void => {
    fs.writeFileSync(join(out, file), data)
    written.push(file)
    const megabytes = (data.length / 1e6).toFixed(1)
    console.log(`${file}  ${megabytes} MB`)
  }
  if (wanted.has('tarball'))
    write(`${name}.tar.xz`, xz(createTar(entries, stamp.epoch, `${name}/`)))
  const system = systemPackage(root, stamp, entries)
  if (wanted.has('deb')) write(debName(system), debOf(system))
  if (wanted.has('rpm')) write(rpmName(system), rpmOf(system))
  if (wanted.has('images')) {
    write(
      `reeve-server-${stamp.version}-${arch}.oci.tar`,
      imageOf(serverImage(stamp, entries), stamp),
    )
    write(`reeve-node-${stamp.version}-${arch}.oci.tar`, imageOf(nodeImage(stamp, entries), stamp))
  }
  if (wanted.has('npm')) for (const { file, data } of npmPackages(built, work)) write(file, data)
  write(`reeve-${stamp.version}.cdx.json`, built.parts)
  write('NOTICE', built.notice)
  write('install.sh', installer(stamp.version))
  return written
}

function npmPackages(built: Built, work: string) {
  const runtime: { version: string } = JSON.parse(
    fs.readFileSync(join(root, 'node_modules/node/package.json'), 'utf8'),
  )
  fs.mkdirSync(work)
  return [
    ...libraryPackages(root, work, built.stamp),
    programPackage(root, built, runtime.version),
    helperPackage(root, built),
  ]
}

function installer(of: string): string {
  const key = flags.key === undefined ? '' : publicKeyLine(readKey(flags.key))
  const text = fs.readFileSync(join(root, 'packaging/install.sh'), 'utf8')
  return text.replaceAll('@VERSION@', of).replaceAll('@PUBLIC_KEY@', key)
}

function writeSums(files: readonly string[], out: string, { stamp }: Built): void {
  const line = (file: string): string => {
    const hash = createHash('sha256')
      .update(fs.readFileSync(join(out, file)))
      .digest('hex')
    return `${hash}  ${file}\n`
  }
  const sums = files.toSorted().map(line).join('')
  fs.writeFileSync(join(out, 'SHA256SUMS'), sums)
  if (flags.key === undefined) return
  const comment = `reeve ${stamp.version} timestamp:${stamp.epoch}`
  const signature = signatureText(readKey(flags.key), Buffer.from(sums), comment)
  fs.writeFileSync(join(out, 'SHA256SUMS.minisig'), signature)
}
