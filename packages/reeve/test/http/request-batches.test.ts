import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import { SCHEDULER_LIMITS } from '../../src/http/pipeline/request-scheduler.ts'
import { anAdmission } from '../build/admission.ts'

const BATCH = SCHEDULER_LIMITS.batchSizeMax

const EVERY_STEP = ['goes on', 'was read', 'is answered']

test('requests that came together are worked on step by step, so many at a time', async (t) => {
  const { port, steps } = await aServer(t)
  const urls = Array.from({ length: BATCH + 2 }, (_, i) => `/${i}`)

  assert.deepEqual(await sendTogether(port, urls), urls, 'they are answered in their order')

  const groups = [urls.slice(0, BATCH), urls.slice(BATCH)]
  assert.deepEqual(steps, [
    ...urls.map((url) => `${url} came`),
    ...groups.flatMap((group) =>
      EVERY_STEP.flatMap((step) => group.map((url) => `${url} ${step}`)),
    ),
  ])
})

/** Notes the steps of every request. */
async function aServer(t: TestContext) {
  const steps: string[] = []
  const note =
    (step: string) =>
    ({ url }: { readonly url: string }, _: unknown, done: () => void): void => {
      steps.push(`${url} ${step}`)
      done()
    }
  const app = fastify()
  app.addHook('onRequest', note('came'))
  const admission = anAdmission()
  admission.prepare(app)
  app.addHook('onRequest', (request, _reply, done) => {
    admission.admit(request, () => admission.queue(request, 1, done))
  })
  app.addHook('onRequest', note('goes on'))
  app.addHook('preHandler', note('was read'))
  app.post('/:name', async ({ url }) => {
    await Promise.resolve()
    steps.push(`${url} is answered`)
    return url
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  // A TCP port was taken, so the address is one with a port.
  const { port } = app.server.address() as AddressInfo
  return { port, steps }
}

/** Sends requests in one piece; the bodies of their answers, in the order in which they come. */
async function sendTogether(port: number, urls: readonly string[]): Promise<string[]> {
  const socket = connect({ port, host: '127.0.0.1' })
  const requests = urls.map(
    (url, i) =>
      `POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n` +
      `Connection: ${i === urls.length - 1 ? 'close' : 'keep-alive'}\r\n\r\n{}`,
  )
  socket.write(requests.join(''))
  let text = ''
  socket.on('data', (chunk) => (text += String(chunk)))
  await once(socket, 'close')
  return Array.from(text.matchAll(/\r\n\r\n(\/\d+)/g), ([, body = '']) => body)
}
