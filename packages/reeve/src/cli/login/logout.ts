import { rm } from 'node:fs/promises'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { loginFile, readLogin, writeLogin } from '../settings/login-file.ts'

/** `logout`: forgets the token of one server, or all. */
export async function runLogout({ flags, host, output, settings }: Invocation): Promise<number> {
  const { environment } = host
  const saved = await readLogin(environment)
  if (flags.has('all') || saved === undefined) {
    await rm(loginFile(environment), { force: true })
    output.say('No server and no token is kept.')
    return EXIT_CODES.ok
  }
  const { [settings.address]: known, ...tokens } = saved.tokens
  await writeLogin(environment, { ...saved, tokens })
  output.say(
    known === undefined
      ? `No token was kept for ${settings.address}.`
      : `The token for ${settings.address} was removed. It is still valid elsewhere.`,
  )
  return EXIT_CODES.ok
}
