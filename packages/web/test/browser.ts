import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { chromium, type BrowserContext, type Page } from 'playwright-core'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
/** WCAG 2.2 AA, as the issue asks. */
const AXE_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** A theme changes nothing but colours: the rest of the rules need not be asked twice. */
const AXE_RUNS = [
  ['light', AXE_RULES],
  ['dark', ['color-contrast']],
] as const
/** Two cores, many tests: what takes a second alone may take many. */
const WAIT_MS_MAX = 45_000

/** For what a page that is drawn already does by itself. */
const HOLDS_MS_MAX = 20_000

/** Why the tests of a file cannot run here; false when they can. For `test(name, { skip })`. */
export const noBrowser: string | false =
  findChromium() === undefined ? 'there is no Chromium on this machine (Debian: chromium)' : false

function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const named = process.env['REEVE_CHROMIUM']
  const places = [
    ...(named === undefined ? [] : [named]),
    ...folders.map((folder) => join(folder, 'chromium')),
    '/usr/bin/chromium',
  ]
  return places.find((place) => existsSync(place))
}

/** One Chromium, for the tests of one file. */
export interface Browser {
  /** A page in a tab of its own; `tokens` as a person who has signed in. */
  open(url: string, options?: OpenOptions): Promise<Page>
  /** The same for as long as `work` takes: a tab that stays open holds a connection. */
  within(options: OpenOptions, work: (page: Page) => Promise<void>): Promise<void>
  close(): Promise<void>
}

interface OpenOptions {
  readonly workload?: string
  readonly governance?: string
  readonly width?: number
}

export async function startBrowser(): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-chromium-'))
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: findChromium() ?? '',
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 800 },
  })
  context.setDefaultTimeout(WAIT_MS_MAX)
  return {
    open: (url, options = {}) => openPage(context, url, options),
    within: async (options, work) => {
      const page = await openPage(context, 'about:blank', options)
      try {
        await work(page)
      } finally {
        await page.close()
      }
    },
    close: async () => {
      await context.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openPage(context: BrowserContext, url: string, options: OpenOptions): Promise<Page> {
  const page = await context.newPage()
  const { width, workload, governance } = options
  if (width !== undefined) await page.setViewportSize({ width, height: 844 })
  if (workload !== undefined || governance !== undefined) {
    const tokens = JSON.stringify(JSON.stringify({ workload, governance }))
    await page.addInitScript(`sessionStorage.setItem('reeve.tokens', ${tokens})`)
  }
  await page.goto(url)
  return page
}

/** Nothing of a page leaves a telephone's screen; charts take a moment to follow it. */
export async function checkNarrow(page: Page): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 })
  const main = `document.querySelector('#main')`
  const fits = await holds(page, `${main}.scrollWidth <= ${main}.clientWidth`)
  assert.ok(fits, `${page.url()} is too wide for 390 px`)
}

/** The page at rest: drawn or refused, and nothing on its way. */
export async function settle(page: Page): Promise<void> {
  await page.locator('#main h1, #main [role=alert]').first().waitFor()
  const isAtRest = await holds(page, `document.querySelector('#main .loading') === null`)
  assert.ok(isAtRest, `${page.url()} goes on loading`)
}

/**
 * Whether something comes to hold in the page. The policy of the pages keeps scripts from being
 * made of texts, which waiting for a function would do.
 */
async function holds(page: Page, expression: string): Promise<boolean> {
  const seen: unknown = await page.evaluate(
    `new Promise((resolve) => {
      const look = () => {
        if (${expression}) resolve(true)
        else if (performance.now() > limit) resolve(false)
        else requestAnimationFrame(look)
      }
      const limit = performance.now() + ${HOLDS_MS_MAX}
      look()
    })`,
  )
  return seen === true
}

/** Holds the page as it is now against WCAG 2.2 AA, in both themes. */
export async function checkAccess(page: Page): Promise<void> {
  for (const [colorScheme, rules] of AXE_RUNS) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await findBarriers(page, rules), [], `${page.url()} in ${colorScheme}`)
  }
}

/** What axe has against the page as it is now: the rule, and what breaks it. */
export async function findBarriers(
  page: Page,
  rules: readonly string[] = AXE_RULES,
): Promise<readonly string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined')
    await page.evaluate(readFileSync(AXE, 'utf8'))
  const found: unknown = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(rules)} }).then(({ violations }) =>
      violations.map(({ id, nodes }) =>
        [id, ...nodes.map(({ html }) => html).slice(0, 3)].join(' ')))`,
  )
  return Array.isArray(found) ? found.map(String) : []
}
