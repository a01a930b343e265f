import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RenderMarkdown } from './markdown.ts'
import { AnchorGenerator, pathOf, plainText, titleOf } from './markdown-text.ts'

export interface ManualPage {
  /** Path below `/docs` without extension: `how-to/tls`; empty for the first page. */
  readonly path: string
  readonly title: string
  readonly markdown: string
}

/**
 * The pages of the documentation, read once. Requests are answered from this table only, so no path
 * in a URL can reach other files.
 */
export class Manual {
  readonly pages: ReadonlyMap<string, ManualPage>
  readonly images: ReadonlyMap<string, Buffer>
  readonly #render: RenderMarkdown
  readonly #html = new Map<string, string>()
  #sections: readonly Section[] | undefined

  constructor(folder: string, render: RenderMarkdown) {
    const names = listFiles(folder)
    const pages = names
      .filter((name) => name.endsWith('.md'))
      .map((name) => {
        const markdown = readFileSync(join(folder, name), 'utf8')
        return { path: pathOf(name), title: titleOf(markdown), markdown }
      })
    this.pages = new Map(pages.map((page) => [page.path, page]))
    const images = names.filter((name) => name.endsWith('.png'))
    this.images = new Map(images.map((name) => [name, readFileSync(join(folder, name))]))
    this.#render = render
  }

  /** The body of a page as HTML. */
  html(page: ManualPage): string {
    const cached = this.#html.get(page.path)
    if (cached !== undefined) return cached
    const isKnown = (path: string): boolean => this.pages.has(path) || this.images.has(path)
    const html = this.#render(page.markdown, { directory: directoryOf(page, this.pages), isKnown })
    this.#html.set(page.path, html)
    return html
  }

  search(query: string): readonly Section[] {
    this.#sections ??= [...this.pages.values()].flatMap((page) =>
      sectionsOf(page, plainText(page.markdown)),
    )
    return searchSections(this.#sections, query)
  }
}

/** Returns the folder that relative links of a page start from. */
function directoryOf({ path }: ManualPage, pages: ReadonlyMap<string, ManualPage>): string {
  const isFolder = path === '' || [...pages.keys()].some((other) => other.startsWith(`${path}/`))
  return isFolder ? path : path.split('/').slice(0, -1).join('/')
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .toSorted()
  } catch (error) {
    // An installation may lack the documentation.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

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
function sectionsOf(
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
function searchSections(sections: readonly Section[], query: string): readonly Section[] {
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
