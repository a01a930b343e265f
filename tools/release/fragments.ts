/** The fragments of `changes/`: what users and operators see of each change since a release. */
import * as fs from 'node:fs'
import { basename, join } from 'node:path'

const KINDS = ['security', 'removed', 'changed', 'added', 'fixed'] as const
type Kind = (typeof KINDS)[number]

const TITLES: Readonly<Record<Kind, string>> = {
  security: 'Security',
  removed: 'Removed',
  changed: 'Changed',
  added: 'Added',
  fixed: 'Fixed',
}

export interface Fragment {
  readonly slug: string
  readonly kind: Kind
  readonly area: string
  readonly text: string
}

/** All fragments of a folder; fails on the first that is malformed, with its name. */
export function readFragments(folder: string): readonly Fragment[] {
  const names = fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
  return names.map((name) =>
    parseFragment(basename(name, '.md'), fs.readFileSync(join(folder, name), 'utf8')),
  )
}

const HEAD = /^kind: (\S+)\narea: (\S.*)\n\n(\S[\s\S]*)$/

export function parseFragment(slug: string, content: string): Fragment {
  const [, kind, area = '', text = ''] = HEAD.exec(content) ?? []
  const known = KINDS.find((one) => one === kind)
  if (known === undefined) {
    const head = `"kind: ${KINDS.join('|')}" and "area: …"`
    throw new Error(`changes/${slug}.md must begin with ${head}, then an empty line.`)
  }
  return { slug, kind: known, area, text: text.trim() }
}

/** One section per kind, entries by area and then by name, in whatever order they were read. */
export function foldFragments(fragments: readonly Fragment[]): string {
  const sections = KINDS.flatMap((kind) => {
    const own = fragments
      .filter((one) => one.kind === kind)
      .toSorted((a, b) => compare(a.area, b.area) || compare(a.slug, b.slug))
    return own.length === 0 ? [] : [`### ${TITLES[kind]}\n\n${own.map(entryText).join('\n')}`]
  })
  return sections.join('\n')
}

function entryText({ area, text }: Fragment): string {
  const [first = '', ...rest] = text.split('\n')
  const lines = rest.map((line) => (line === '' ? '' : `  ${line}`))
  return `${[`- **${area}**: ${first}`, ...lines].join('\n')}\n`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A change log with a section for a version before the sections of earlier ones. */
export function withVersion(changelog: string, version: string, folded: string): string {
  const at = changelog.indexOf('\n## ')
  if (at < 0) throw new Error('CHANGELOG.md has no section of a version.')
  if (changelog.includes(`\n## ${version}\n`))
    throw new Error(`CHANGELOG.md has a section ${version} already.`)
  return `${changelog.slice(0, at)}\n## ${version}\n\n${folded}${changelog.slice(at)}`
}
