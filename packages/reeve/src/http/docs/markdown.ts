import { posix } from 'node:path'
import { Marked, type Tokens } from 'marked'
import { AnchorGenerator, escapeHtml, pathOf, plainText } from './markdown-text.ts'

interface PageContext {
  /** Base of relative links, below the documentation folder. */
  readonly directory: string
  /** Reports whether a page or image exists. */
  readonly isKnown: (path: string) => boolean
}

export type RenderMarkdown = (markdown: string, context: PageContext) => string

const ROOT = '/docs'

/** Renders a page without external resources: links lead to other pages or to other sites. */
export function renderMarkdown(markdown: string, context: PageContext): string {
  const anchors = new AnchorGenerator()
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = anchors.next(plainText(text))
        const inner = this.parser.parseInline(tokens)
        return `<h${depth} id="${escapeHtml(id)}"><a href="#${escapeHtml(id)}">${inner}</a></h${depth}>\n`
      },
      link({ href, tokens }) {
        const target = resolveLink(href, context)
        const inner = this.parser.parseInline(tokens)
        return target === undefined ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`
      },
      image({ href, text }) {
        const path = posix.join(context.directory, href)
        if (!context.isKnown(path)) return escapeHtml(text)
        return `<img src="${ROOT}/${escapeHtml(path)}" alt="${escapeHtml(text)}">`
      },
      // Comments are for generators; the documentation has no other HTML.
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
function resolveLink(href: string, { directory, isKnown }: PageContext): string | undefined {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href
  const [file = '', anchor] = href.split('#', 2)
  const path = posix.join(directory, file).replace(/\/$/, '')
  const page = path === '.' ? '' : pathOf(path)
  if (!isKnown(page) && !isKnown(path)) return undefined
  const end = anchor === undefined ? '' : `#${anchor}`
  return `${ROOT}${page === '' ? '' : `/${isKnown(page) ? page : path}`}${end}`
}
