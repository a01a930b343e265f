/** `how-to/tls.md` is the page `how-to/tls`, `reference/cli/README.md` is `reference/cli`. */
export function pathOf(name: string): string {
  return name.replace(/\.md$/, '').replace(/(?:^|\/)README$/, '')
}

/** Anchors of headings as Markdown viewers give them; a repeated one gets a number. */
export class Anchors {
  readonly #seen = new Map<string, number>()

  next(heading: string): string {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = this.#seen.get(slug) ?? 0
    this.#seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
}

/** The first heading of a page. */
export function titleOf(markdown: string): string {
  return plainText(/^# (.+)$/m.exec(markdown)?.[1] ?? '')
}

/** Text without the marks of links, code and emphasis, and without comments. */
export function plainText(markdown: string): string {
  return markdown
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
}
