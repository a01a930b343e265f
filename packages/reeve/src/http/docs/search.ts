import { AnchorGenerator } from './markdown-text.ts'

/** A heading with the text below it, which is the unit of the search. */
export interface Section {
  readonly path: string
  /** Anchor of the heading; empty for the top of the page. */
  readonly anchor: string
  readonly pageTitle: string
  readonly title: string
  readonly text: string
}

const QUERY_CHARACTERS_MAX = 200
const TERMS_MAX = 8
const RESULTS_MAX = 40

/** Splits the plain text of a page into sections. */
export function sectionsOf(
  { path, title }: { readonly path: string; readonly title: string },
  text: string,
): readonly Section[] {
  const anchors = new AnchorGenerator()
  return text.split(/^(?=#{1,4} )/m).map((part) => {
    const [head = '', ...lines] = part.split('\n')
    const heading = /^#{1,4} (.+)$/.exec(head)?.[1] ?? ''
    const anchor = anchors.next(heading)
    const isTop = heading === '' || heading === title
    return {
      path,
      anchor: isTop ? '' : anchor,
      pageTitle: title,
      title: heading === '' ? title : heading,
      text: lines.join(' ').replaceAll(/[\s|]+/g, ' '),
    }
  })
}

/** Returns the sections that contain all words of a query; matches in titles come first. */
export function searchSections(sections: readonly Section[], query: string): readonly Section[] {
  const queryWords =
    query
      .slice(0, QUERY_CHARACTERS_MAX)
      .toLowerCase()
      .match(/[^\s]+/g) ?? []
  const terms = queryWords.slice(0, TERMS_MAX)
  if (terms.length === 0) return []
  return sections
    .map((section) => ({ section, score: relevanceOf(section, terms) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || compare(keyOf(a.section), keyOf(b.section)))
    .slice(0, RESULTS_MAX)
    .map(({ section }) => section)
}

function keyOf({ path, anchor }: Section): string {
  return `${path}#${anchor}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Returns the relevance; 0 if a word is missing. */
function relevanceOf(section: Section, terms: readonly string[]): number {
  const title = section.title.toLowerCase()
  const pageTitle = section.pageTitle.toLowerCase()
  const text = section.text.toLowerCase()
  let score = 0
  for (const term of terms) {
    const found =
      (title === term ? 20 : title.includes(term) ? 10 : 0) +
      (pageTitle.includes(term) ? 5 : 0) +
      (text.includes(term) ? 1 : 0)
    if (found === 0) return 0
    score += found
  }
  return score
}
