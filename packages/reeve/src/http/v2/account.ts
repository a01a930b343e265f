import { v2 } from '@reeve/contract'
import {
  createUser,
  deleteUser,
  findVisibleUser,
  isSiteAdministrator,
  listUsers,
  updateAccount,
  type GovernanceCaller,
  type GovernanceContext,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { UNSEEN } from '../../model/index.ts'
import { answer, created, NO_CONTENT, single, paged, windowOf } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { accountResource, adminUserResource, userResource } from './resources/user.ts'

const { v2Routes } = v2

/** Returns the routes for ping, the current account, and the users of the installation. */
export function accountEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const administrators = ({ caller }: { readonly caller: GovernanceCaller }) =>
    isSiteAdministrator(caller) ? ok(true) : err(UNSEEN)
  return [
    endpoint(v2Routes.ping, () => NO_CONTENT, { isOpen: true }),
    endpoint(v2Routes.readAccount, ({ caller }) => single(accountResource(context, caller))),
    endpoint(
      v2Routes.updateAccount,
      async ({ caller, body }) =>
        answer(await updateAccount(context, caller, body.data.attributes), () =>
          single(accountResource(context, caller)),
        ),
      { guard: ({ caller }) => (caller.kind === 'user' ? ok(true) : err(UNSEEN)) },
    ),
    endpoint(v2Routes.readUser, ({ caller, params }) =>
      answer(findVisibleUser(context, caller, params.user_id), (user) =>
        single(userResource(user)),
      ),
    ),
    endpoint(v2Routes.listUsers, (request) =>
      answer(
        listUsers(context, request.caller, { part: request.query.q, ...windowOf(request.page) }),
        ({ keys, total }) => {
          const { users } = context.store.tables
          return paged(request, {
            items: keys.map((id) => adminUserResource(users.get(id))),
            total,
          })
        },
      ),
    ),
    endpoint(
      v2Routes.createUser,
      async ({ caller, body }) =>
        answer(await createUser(context, caller, body.data.attributes), (user) =>
          created(adminUserResource(user)),
        ),
      { guard: administrators },
    ),
    endpoint(v2Routes.deleteUser, async ({ caller, params }) =>
      answer(await deleteUser(context, caller, params.user_id), () => NO_CONTENT),
    ),
  ]
}
