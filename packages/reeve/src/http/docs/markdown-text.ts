/**
 * Returns the URL path of a file: `how-to/tls.md` is `how-to/tls`, `reference/cli/README.md` is
 * `reference/cli`.
 */
export function pathOf(name: string): string {
  return name.replace(/\.md$/, '').replace(/(?:^|\/)README$/, '')
}

/** Generates the anchors of headings like Markdown viewers; a repeated one gets a number. */
export class AnchorGenerator {
  readonly #counts = new Map<string, number>()

  next(heading: string): string {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = this.#counts.get(slug) ?? 0
    this.#counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
}

/** Returns the first heading of a page. */
export function titleOf(markdown: string): string {
  return plainText(/^# (.+)$/m.exec(markdown)?.[1] ?? '')
}

/** Removes the markup of links, code and emphasis, and comments. */
export function plainText(markdown: string): string {
  return markdown
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
}

/** Escapes text for the content of an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
