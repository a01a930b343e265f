/** The bill of materials of a release (CycloneDX) and the licences of all components. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { packageVersion } from './runtime.ts'
import { builtAtOf, type ReleaseStamp } from './stamp.ts'

export interface Part {
  readonly name: string
  readonly version: string
  readonly license: string
  /** The text of its licence, where the part has one. */
  readonly text: string
  readonly purl: string
  readonly scope: string
}

/** The packages that the web UI and the program use, Node, the helper and the library. */
export function listParts(root: string, roots: readonly string[]): Part[] {
  const names = new Set<string>()
  for (const folder of roots) addDependencies(root, folder, names)
  const packages = [...names].toSorted().map((folder) => packagePart(root, folder))
  return [...packages, ...ownParts(root)]
}

interface Manifest {
  readonly name?: string
  readonly version?: string
  readonly license?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
}

function readManifest(folder: string): Manifest {
  return JSON.parse(fs.readFileSync(join(folder, 'package.json'), 'utf8'))
}

/** As Node resolves them: the nearest node_modules on the way up. */
function addDependencies(root: string, folder: string, found: Set<string>): void {
  for (const name of Object.keys(readManifest(join(root, folder)).dependencies ?? {})) {
    const place = findPackage(root, folder, name)
    if (place === undefined || found.has(place)) continue
    const real = fs.realpathSync(join(root, place))
    const isOwn = !real.includes('/node_modules/')
    if (isOwn) addDependencies(root, real.slice(root.length + 1), found)
    else {
      found.add(place)
      addDependencies(root, place, found)
    }
  }
}

function findPackage(root: string, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const place = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`
    if (fs.existsSync(join(root, place, 'package.json'))) return place
    if (at === '') return undefined
  }
}

function packagePart(root: string, place: string): Part {
  const folder = join(root, place)
  const { name = place, version = '', license } = readManifest(folder)
  const file = fs.readdirSync(folder).find((one) => /^(?:licen[cs]e|copying)/i.test(one))
  return {
    name,
    version,
    license: typeof license === 'string' ? license : 'see text',
    text: file === undefined ? '' : fs.readFileSync(join(folder, file), 'utf8'),
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    scope: 'library',
  }
}

function ownParts(root: string): Part[] {
  const { version = '' } = readManifest(join(root, 'node_modules/node'))
  const part = (name: string, of: Partial<Part>): Part => ({
    name,
    version: 'unknown',
    license: 'MIT',
    text: '',
    purl: `pkg:generic/${name}@${of.version ?? 'unknown'}`,
    scope: 'library',
    ...of,
  })
  const [gcc, musl] = [packageVersion('libatomic1'), packageVersion('musl')]
  return [
    part('node', {
      version,
      scope: 'application',
      text: `See https://github.com/nodejs/node/blob/v${version}/LICENSE for Node.js and the libraries in it.`,
    }),
    part('reeve-task', { license: 'Apache-2.0', scope: 'application' }),
    part('libatomic', { version: gcc, license: 'GPL-3.0-or-later WITH GCC-exception-3.1' }),
    part('musl', { version: musl, text: 'Copyright 2005-2020 Rich Felker, et al.' }),
  ]
}

export function noticeText(parts: readonly Part[], stamp: ReleaseStamp): string {
  const sections = parts.map(
    ({ name, version, license, text }) =>
      `${'-'.repeat(78)}\n${name} ${version} (${license})\n\n${text.trim()}\n`,
  )
  return `Reeve ${stamp.version}
Licensed under the Apache License 2.0, see LICENSE. It contains the following parts.

${sections.join('\n')}`
}

export function partsDocument(parts: readonly Part[], stamp: ReleaseStamp): string {
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(stamp)}`,
    version: 1,
    metadata: {
      timestamp: builtAtOf(stamp),
      component: { type: 'application', name: 'reeve', version: stamp.version, 'bom-ref': 'reeve' },
    },
    components: parts.map(({ name, version, license, purl, scope }) => ({
      type: scope,
      name,
      version,
      'bom-ref': purl,
      purl,
      licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    })),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** From the commit, so that the same release has the same number. */
function uuidOf({ commit }: ReleaseStamp): string {
  const hex = commit.padEnd(32, '0')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
