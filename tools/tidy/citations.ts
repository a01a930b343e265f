import type { Finding } from '../source/finding.ts'
import type { Repository } from '../source/repository.ts'
import type { Source } from '../source/tree.ts'
import { headingsOf } from './links.ts'

/** The two contract documents, by the letter that comments cite them with. */
export type Specs = Readonly<Record<'W' | 'G', string>>

/**
 * Comments cite the contract as `Spec W: Limits. Only …`. A citation that names no section of the
 * document cannot be looked up, or speaks of a section that has gone.
 */
export function checkCitations(
  repository: Repository,
  sources: ReadonlyMap<string, Source>,
  specs: Specs,
): Finding[] {
  const sections = { W: sectionsOf(specs.W), G: sectionsOf(specs.G) }
  const inComments = [...sources.values()].flatMap((source) =>
    citationsIn(source.path, commentText(source)),
  )
  const inDocuments = repository.files
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => citationsIn(path, repository.read(path)))
  return [...inComments, ...inDocuments].flatMap(({ path, line, spec, words }) => {
    if (sections[spec].some((section) => startsWithWords(words, section))) return []
    const message = `spec ${spec} has no section "${words.slice(0, 40).trim()}"`
    return [{ path, line, rule: 'citation', message }]
  })
}

/**
 * What can be cited: headings, in full or up to their "and" (the specs say "see Resources"
 * themselves), and the bold words that open a paragraph about one endpoint.
 */
function sectionsOf(spec: string): string[] {
  const headings = headingsOf(spec).map((heading) => heading.replace(/\s*\(.*$/, ''))
  const short = headings.map((heading) => heading.replace(/ and .*$/, ''))
  const bold = Array.from(spec.matchAll(/\*\*(.+?)\.?\*\*/g), ([, words = '']) => words)
  return [...headings, ...short, ...bold].map(plain)
}

function plain(text: string): string {
  return text.replaceAll('`', '').replaceAll(/\s+/g, ' ').trim().toLowerCase()
}

function startsWithWords(words: string, section: string): boolean {
  const text = plain(words)
  return text.startsWith(section) && !/^[\p{L}\p{N}]/u.test(text.slice(section.length))
}

interface Citation {
  readonly path: string
  readonly line: number
  readonly spec: 'W' | 'G'
  /** What follows the colon. */
  readonly words: string
}

/**
 * `Spec W: Jobs, …` and `spec W, Jobs …`. After a comma only a capital starts a section, because a
 * sentence may go on there; a quotation cites words, not a section.
 */
const CITATION =
  /\b[Ss]pec\s+([WG])(?::\s*|,\s+(?=`?\p{Lu}))(?![\s"'“])(?=([^\n]{0,80}(?:\n[^\n]{0,80})?))/gu

function citationsIn(path: string, text: string): Citation[] {
  return [...text.matchAll(CITATION)].flatMap(({ index, 1: letter = '', 2: words = '' }) => {
    const line = text.slice(0, index).split('\n').length
    return [{ path, line, spec: letter === 'G' ? 'G' : 'W', words }]
  })
}

/** The source with all but the words of its comments blanked, so that lines keep their number. */
function commentText({ text, comments }: Source): string {
  const blank = (part: string) => part.replaceAll(/[^\n]/g, ' ')
  let result = ''
  let at = 0
  for (const { start, end } of comments.toSorted((a, b) => a.start - b.start)) {
    const marked = text.slice(start, end)
    result += blank(text.slice(at, start))
    result += marked.replaceAll(/^\s*(?:\/\/|\/?\*+\/?)|\*\/$/gm, blank)
    at = end
  }
  return result + blank(text.slice(at))
}
