import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Route } from '@reeve/contract'
import { Manual } from './manual.ts'
import { openApiDocument } from './openapi.ts'
import { manualPage, missingPage, searchPage } from './page.ts'

/** Allows resources of this server only, and no scripts. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export interface DocsOptions {
  readonly routes: readonly Route[]
  readonly version: string
  /** Folder of the Markdown files; without it there are no pages. */
  readonly folder: string | undefined
}

/** Serves the documentation below `/docs`, with search, and the OpenAPI document. */
export function mountDocs(app: FastifyInstance, { routes, version, folder }: DocsOptions): void {
  // Created on first use, so that they do not slow down the start of a server.
  let document: string | undefined
  let manual: Promise<Manual> | undefined
  const load = (): Promise<Manual> => (manual ??= openManual(folder))
  app.get('/openapi.json', (_request, reply) => {
    document ??= JSON.stringify(openApiDocument(routes, version))
    return reply.type('application/json').send(document)
  })
  app.get('/docs', async (_request, reply) => sendPage(reply, await load(), ''))
  app.get('/docs/search', async ({ url }, reply) => {
    const query = new URL(url, 'http://localhost').searchParams.get('q') ?? ''
    return sendHtml(reply, searchPage(await load(), query))
  })
  app.get('/docs/*', async ({ url }, reply) => {
    const path = pagePathOf(url)
    const pages = await load()
    const image = pages.images.get(path)
    return image === undefined ? sendPage(reply, pages, path) : reply.type('image/png').send(image)
  })
}

/** Loads the renderer with the pages: no other request needs it. */
async function openManual(folder: string | undefined): Promise<Manual> {
  const { renderMarkdown } = await import('./markdown.ts')
  return new Manual(folder ?? '', renderMarkdown)
}

function pagePathOf(url: string): string {
  return new URL(url, 'http://localhost').pathname.slice('/docs/'.length).replace(/\/$/, '')
}

function sendPage(reply: FastifyReply, manual: Manual, path: string): FastifyReply {
  const page = manual.pages.get(path)
  if (page !== undefined) return sendHtml(reply, manualPage(manual, page))
  return sendHtml(reply.code(404), missingPage(manual))
}

function sendHtml(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', CONTENT_SECURITY_POLICY)
    .send(html)
}
