import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RenderMarkdown } from './markdown.ts'
import { pathOf, plainText, titleOf } from './markdown-text.ts'
import { searchSections, sectionsOf, type Section } from './search.ts'

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
