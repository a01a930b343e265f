import { test } from 'node:test'
import { noBrowser } from './browser.ts'
import { runFile, serviceFile } from './jobs.ts'
import { visitProgram } from './visit.ts'

const visit = visitProgram()
const AWAY = 'The server cannot be reached.'

test(
  'pages say that the server is away, and go on when it is back',
  { skip: noBrowser },
  async () => {
    await runFile(visit.program.client, serviceFile('lasts', { count: 1, words: 'still-here' }))
    const logs = await visit.browser.open(visit.here('/jobs/lasts/logs?namespace=default'))
    await logs.getByRole('log').getByText('still-here').first().waitFor()
    const topology = await visit.browser.open(visit.here('/topology'))
    await topology.getByText('1 node, 1 allocations').waitFor()
    const jobs = await visit.browser.open(visit.here('/jobs'))
    await jobs.getByRole('row', { name: /lasts/ }).waitFor()
    await visit.program.crash()
    for (const page of [logs, topology, jobs]) await page.getByText('Offline').waitFor()
    await logs.getByText(AWAY).waitFor()
    await jobs.getByRole('link', { name: 'Nodes', exact: true }).click()
    await jobs.getByText(AWAY).waitFor()
    await visit.program.restart()
    for (const page of [logs, topology, jobs])
      await page.getByText('Live', { exact: true }).waitFor()
    await logs.getByText(AWAY).waitFor({ state: 'detached' })
    await logs.getByRole('heading', { name: 'Output, followed' }).waitFor()
    await topology.getByText(AWAY).waitFor({ state: 'detached' })
    await jobs.getByRole('button', { name: 'Try again' }).click()
    await jobs.getByRole('heading', { name: 'Nodes', level: 1 }).waitFor()
    await jobs.getByRole('table').getByText('ready').first().waitFor()
  },
)

test(
  'a list that is read from time to time stays when the server is away',
  { skip: noBrowser },
  () =>
    visit.browser.within({}, async (page) => {
      await page.route('**/v1/event/stream**', (route) => route.fulfill({ status: 403 }))
      await page.goto(visit.here('/nodes'))
      const row = page.getByRole('row', { name: /ready/ })
      await row.waitFor()
      await page.getByText('Polling').waitFor()
      await page.route('**/v1/**', (route) => route.abort())
      await page.getByText('Offline').waitFor()
      await row.waitFor()
      await page.getByRole('combobox', { name: 'State' }).selectOption('down')
      await page.getByText(AWAY).waitFor()
      await page.unroute('**/v1/**')
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('No matching nodes').first().waitFor()
    }),
)
