import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import test from 'node:test'
import fastify from 'fastify'
import { goInStep } from '../../src/http/in-step.ts'

test('requests that came together are worked on step by step, and answered in their order', async (t) => {
  const steps: string[] = []
  const app = fastify()
  const note =
    (step: string) =>
    ({ url }: { readonly url: string }, _: unknown, done: () => void): void => {
      steps.push(`${url} ${step}`)
      done()
    }
  app.addHook('onRequest', note('came'))
  goInStep(app)
  app.addHook('onRequest', note('goes on'))
  app.addHook('preHandler', note('was read'))
  app.post('/:name', async ({ url }) => {
    await Promise.resolve()
    steps.push(`${url} is answered`)
    return url
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())

  const urls = ['/a', '/b', '/c']
  // A TCP port was taken, so the address is one with a port.
  const { port } = app.server.address() as AddressInfo
  const answers = await sendTogether(port, urls)

  assert.deepEqual(answers, urls)
  const everyStep = ['came', 'goes on', 'was read', 'is answered']
  assert.deepEqual(
    steps,
    everyStep.flatMap((step) => urls.map((url) => `${url} ${step}`)),
  )
})

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
  return Array.from(text.matchAll(/\r\n\r\n(\/\w)/g), ([, body = '']) => body)
}
