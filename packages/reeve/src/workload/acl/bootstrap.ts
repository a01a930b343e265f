import type { AclBootstrapRequest } from '@reeve/contract'
import { tokenHash } from '../../acl/index.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type AclTokenRow, type Refusal } from '../../model/index.ts'
import { findSetting, put, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { commitToken, secretFields, type TokenWriteResult } from './tokens.ts'
import { isUuid } from './uuid.ts'

const SETTING = 'acl-bootstrap'

/** Maximum number of characters of the reset file in a message: an index has at most 16. */
const RESET_CHARS_SHOWN_MAX = 20

/**
 * Creates the first management token. Works once, and again each time that an operator writes the
 * index of the last bootstrap into the reset file.
 */
export async function bootstrapAcl(
  context: WorkloadContext,
  author: Author,
  request: AclBootstrapRequest,
): Promise<Result<TokenWriteResult, Refusal>> {
  const { store, ids } = context
  const requestedSecret = request.BootstrapSecret ?? ''
  if (requestedSecret !== '' && !isUuid(requestedSecret))
    return invalidBootstrap('invalid acl token')
  const isFirst = !store.tables.settings.has(SETTING)
  const reset = isFirst ? undefined : await context.readBootstrapReset()
  // No await from here to the commit, so that of two concurrent callers one is refused.
  const refused = checkReset(context, reset) ?? checkSecret(context, requestedSecret)
  if (refused !== undefined) return err(refused)
  const row = bootstrapToken(context, {
    accessorId: ids.uuid(),
    secretId: requestedSecret || ids.uuid(),
  })
  const written = await commitToken(context, author, row, (stamp) => [
    put('settings', { Name: SETTING, ResetIndex: stamp.index, CreateIndex: 0, ModifyIndex: 0 }),
  ])
  return ok(written)
}

function checkReset({ store }: WorkloadContext, reset: string | undefined): Refusal | undefined {
  const lastBootstrap = findSetting(store.tables, SETTING)
  if (lastBootstrap === undefined) return undefined
  const specified = reset?.trim() ?? ''
  if (specified === String(lastBootstrap.ResetIndex)) return undefined
  if (specified === '')
    return refusal(
      'bootstrap-done',
      `ACL bootstrap already done (reset index: ${lastBootstrap.ResetIndex})`,
    )
  return refusal(
    'bootstrap-done',
    `Invalid bootstrap reset index (specified ${specified.slice(0, RESET_CHARS_SHOWN_MAX)}, ` +
      `reset index: ${lastBootstrap.ResetIndex})`,
  )
}

/** Refuses a secret that another token has: the two could not be distinguished. */
function checkSecret({ store, sealer }: WorkloadContext, secret: string): Refusal | undefined {
  const isTaken =
    secret !== '' && store.tables.acl_tokens.countByIndex('secret', sealer.hash(secret)) > 0
  return isTaken ? refusal('invalid-input', 'invalid acl token') : undefined
}

function bootstrapToken(
  context: WorkloadContext,
  secret: { readonly accessorId: string; readonly secretId: string },
): AclTokenRow {
  const rights = {
    Name: 'Bootstrap Token',
    Type: 'management',
    Policies: null,
    Roles: null,
    Global: true,
  } as const
  return {
    ...secretFields(context, secret),
    ...rights,
    Hash: tokenHash(rights),
    CreateTime: isoFromMs(context.clock.nowMs()),
    ExpirationTime: null,
    ExpirationTTL: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}

function invalidBootstrap(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
