import { after, before } from 'node:test'
import { noBrowser, startBrowser, type Browser } from './browser.ts'
import { startProgram, type Program } from './program.ts'

/** The real program and a browser to look at it with. */
export interface Visit {
  readonly program: Program
  readonly browser: Browser
  /** The address of a page. */
  here(path: string): string
}

/** For the tests of one file, from the first to the last; without a browser all are skipped. */
export function visitProgram(): Visit {
  let started: readonly [Program, Browser] | undefined
  const running = (): readonly [Program, Browser] => {
    if (started === undefined) throw new Error('nothing runs before the first test')
    return started
  }
  before(async () => {
    if (noBrowser === false) started = await Promise.all([startProgram(), startBrowser()])
  })
  after(async () => {
    const [program, browser] = started ?? []
    await browser?.close()
    await program?.stop()
  })
  return {
    get program() {
      return running()[0]
    },
    get browser() {
      return running()[1]
    },
    here: (path) => `${running()[0].address}/ui${path}`,
  }
}
