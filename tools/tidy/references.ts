import { posix } from 'node:path'
import type { Finding } from '../source/finding.ts'
import type { Repository } from '../source/repository.ts'
import type { Source } from '../source/tree.ts'

/** Relative links of the documentation that lead nowhere. */
export function checkLinks(repository: Repository): Finding[] {
  return repository.files
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      linksOf(repository.read(path)).flatMap(({ line, target }) => {
        const message = complaintAbout(repository, path, target)
        return message === undefined ? [] : [{ path, line, rule: 'link', message }]
      }),
    )
}

/** Pages of the documentation that no other page leads to. */
export function checkUnlinkedPages(repository: Repository): Finding[] {
  const pages = repository.files.filter((path) => path.endsWith('.md'))
  const linked = new Set(
    pages.flatMap((from) =>
      linksOf(repository.read(from)).flatMap(({ target }) => {
        const path = pathOf(from, target.split('#', 1)[0] ?? '')
        return path === undefined || path === from ? [] : [path, posix.join(path, 'README.md')]
      }),
    ),
  )
  return pages
    .filter((path) => path.startsWith('docs/') && !linked.has(path))
    .map((path) => ({ path, line: 1, rule: 'unlinked-page', message: 'no page links to it' }))
}

interface Link {
  readonly line: number
  readonly target: string
}

const INLINE = /\[(?:[^\][]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^)]*)?\)/g
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/g

function linksOf(markdown: string): Link[] {
  return withoutCode(markdown).flatMap((text, index) =>
    [...text.matchAll(INLINE), ...text.matchAll(DEFINITION)].flatMap(([, target = '']) =>
      /^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(target) ? [] : [{ line: index + 1, target }],
    ),
  )
}

/** The lines with code taken out: brackets there are no links. */
function withoutCode(markdown: string): string[] {
  let fence: string | undefined
  return markdown.split('\n').map((text) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(text)?.[1]
    if (fence === undefined && mark !== undefined) fence = mark
    else if (fence !== undefined) {
      if (mark?.startsWith(fence) === true) fence = undefined
    } else return text.replaceAll(/(`+)(?!`).*?\1(?!`)/g, '')
    return ''
  })
}

function complaintAbout(repository: Repository, from: string, target: string): string | undefined {
  const [file = '', anchor] = target.split('#', 2)
  const path = file === '' ? from : pathOf(from, file)
  if (path === undefined || !repository.has(path)) return `${target} leads nowhere`
  if (anchor === undefined || !path.endsWith('.md')) return undefined
  const anchors = anchorsOf(repository.read(path))
  return anchors.has(anchor.toLowerCase()) ? undefined : `${path} has no heading #${anchor}`
}

/** Undefined when the address cannot be read or leaves the repository. */
function pathOf(from: string, file: string): string | undefined {
  let plain: string
  try {
    plain = decodeURIComponent(file)
  } catch {
    // A stray % that no browser would follow either.
    return undefined
  }
  const path = plain.startsWith('/')
    ? plain.slice(1)
    : posix.join(posix.dirname(from), plain).replace(/\/$/, '')
  if (path === '.') return ''
  return path.startsWith('..') ? undefined : path
}

/** The anchors a Markdown viewer gives to headings; a repeated one gets a number. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const anchors = new Set<string>()
  for (const heading of headingsOf(markdown)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

/** The text of every heading, outside code blocks. */
function headingsOf(markdown: string): string[] {
  let isCode = false
  return markdown.split('\n').flatMap((text) => {
    if (/^\s*(?:```|~~~)/.test(text)) isCode = !isCode
    const heading = isCode ? undefined : /^#{1,6}\s+(.+?)\s*#*$/.exec(text)?.[1]
    return heading === undefined ? [] : [heading]
  })
}

/**
 * Comments and documents must be understandable with this repository alone. Numbered sections may
 * be cited only of public standards; pages under docs/ are linked.
 */
export function checkCitations(
  repository: Repository,
  sources: ReadonlyMap<string, Source>,
): Finding[] {
  const inSources = [...sources.values()].flatMap(({ path, text }) => citationsIn(path, text))
  const inDocuments = repository.files
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => citationsIn(path, repository.read(path)))
  return [...inSources, ...inDocuments]
}

/** Public standards, whose sections may be cited by number. */
const STANDARDS = /\b(?:RFC \d+|Semantic Versioning|ECMA-\d+)[^\u00a7]*$/

const CITATION = /\u00a7|\b[Ss]pec [WG]\b|\bchoices\.md\b/g

function citationsIn(path: string, text: string): Finding[] {
  return text.split('\n').flatMap((content, at) =>
    [...content.matchAll(CITATION)]
      .filter(({ index }) => !STANDARDS.test(content.slice(0, index)))
      .map(({ 0: citation }) => ({
        path,
        line: at + 1,
        rule: 'citation',
        message: `"${citation}" cites a document that is not in the repository: say it here, or link a page of docs/`,
      })),
  )
}
