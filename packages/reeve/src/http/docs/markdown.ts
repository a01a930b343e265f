import { posix } from 'node:path'
import { Marked, type Tokens } from 'marked'
import { escapeHtml } from './escape.ts'
import { Anchors, pathOf, plainText } from './markdown-text.ts'

interface PageContext {
  /** Where relative links begin, below the folder of the documentation. */
  readonly directory: string
  /** Whether a page or image exists. */
  readonly isKnown: (path: string) => boolean
}

export type RenderMarkdown = (markdown: string, context: PageContext) => string

const ROOT = '/docs'

/** A page as HTML without external resources: links lead to other pages or out of the program. */
export function renderMarkdown(markdown: string, context: PageContext): string {
  const anchors = new Anchors()
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = anchors.next(plainText(text))
        const inner = this.parser.parseInline(tokens)
        return `<h${depth} id="${escapeHtml(id)}"><a href="#${escapeHtml(id)}">${inner}</a></h${depth}>\n`
      },
      link({ href, tokens }) {
        const target = targetOf(href, context)
        const inner = this.parser.parseInline(tokens)
        return target === undefined ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`
      },
      image({ href, text }) {
        const path = posix.join(context.directory, href)
        if (!context.isKnown(path)) return escapeHtml(text)
        return `<img src="${ROOT}/${escapeHtml(path)}" alt="${escapeHtml(text)}">`
      },
      // Comments say how a page is made; there is no other HTML in the documentation.
      html: ({ text }: Tokens.HTML | Tokens.Tag) =>
        text.startsWith('<!--') ? '' : escapeHtml(text),
    },
  })
  const html = marked.parse(markdown, { async: false })
  return html
    .replaceAll('<table>', '<div class="table"><table>')
    .replaceAll('</table>', '</table></div>')
}

/** Undefined for files of the repository that are not served. */
function targetOf(href: string, { directory, isKnown }: PageContext): string | undefined {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href
  const [file = '', anchor] = href.split('#', 2)
  const path = posix.join(directory, file).replace(/\/$/, '')
  const page = path === '.' ? '' : pathOf(path)
  if (!isKnown(page) && !isKnown(path)) return undefined
  const end = anchor === undefined ? '' : `#${anchor}`
  return `${ROOT}${page === '' ? '' : `/${isKnown(page) ? page : path}`}${end}`
}
