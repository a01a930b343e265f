import { Type, type TProperties, type TSchema } from 'typebox'
import {
  joinAnswers,
  paramsPart,
  type Answer,
  type Method,
  type ParamsPart,
  type QueryOf,
  type RouteHandling,
} from '../route.ts'
import { refused, USUAL_ERRORS } from './answer.ts'
import { V1_ROOT } from './names.ts'
import { blocking, common, consistency, listing } from './query.ts'

/** Fields of a route that its definition states. All others follow from its path and its kind. */
interface Definition extends Partial<RouteHandling> {
  readonly summary: string
  /** Parameters besides those that every route of the kind takes. */
  readonly query?: TProperties
  readonly body?: TSchema
  readonly bodyType?: string
  readonly bodyBytesMax?: number
  readonly streams?: boolean
  /** Response with status 200. */
  readonly returns?: Answer
  /** Responses with other statuses, or responses shared by several routes. */
  readonly answers?: { readonly [status: number]: Answer }
  /** Causes of failure by status, besides the usual errors. Bodies are text. */
  readonly errors?: Errors
  readonly needs: string
}

type Errors = Readonly<Record<number, string>>

interface Kind<Q extends TProperties> {
  readonly methods: readonly Method[]
  readonly query: Q
  readonly blocking?: boolean
}

type Written = 'query' | 'returns' | 'answers' | 'errors'
type BlockingPart<K> = K extends { readonly blocking: true } ? { readonly blocking: true } : unknown
type UsualPart<D> = D extends { readonly needs: 'none' }
  ? Omit<typeof USUAL_ERRORS, 403>
  : typeof USUAL_ERRORS
type SuccessPart<D> = D extends { readonly returns: infer A extends Answer }
  ? { readonly 200: A }
  : unknown
type AnswersPart<D> = D extends { readonly answers: infer A } ? A : unknown
type ErrorsPart<D> = D extends { readonly errors: infer E extends Errors }
  ? { readonly [Status in keyof E]: Answer }
  : unknown

/** Type of a route of kind `K`, built from its definition and its path. */
type Built<K extends Kind<TProperties>, P extends string, D extends Definition> = Omit<D, Written> &
  ParamsPart<P> &
  BlockingPart<K> & {
    readonly methods: K['methods']
    readonly path: `${typeof V1_ROOT}${P}`
    readonly query: QueryOf<K['query'], D>
    readonly answers: UsualPart<D> & SuccessPart<D> & AnswersPart<D> & ErrorsPart<D>
  }

/** Descriptions of path parameters whose name is not enough. */
const PARAMETERS: Readonly<Record<string, string>> = {
  job_id: 'Id of the job; may hold slashes.',
  alloc_id: 'The full UUID of the allocation.',
  path: 'May hold slashes.',
}

function parameter(name: string) {
  const description = PARAMETERS[name]
  return Type.String(description === undefined ? {} : { description })
}

/**
 * Returns the errors common to all routes. A route without a required capability does not read the
 * token, so it never rejects one.
 */
function usualErrors({ needs }: Definition) {
  const { 403: denied, ...others } = USUAL_ERRORS
  return needs === 'none' ? others : { ...others, 403: denied }
}

/** Creates the function that defines routes of one kind. */
function kind<const K extends Kind<TProperties>>(of: K) {
  // Shared by all routes that add no parameters.
  const usualQuery = Type.Object(of.query)
  return <const P extends string, const D extends Definition>(path: P, definition: D) => {
    const { query, returns, answers = {}, errors = {}, ...own }: Definition = definition
    const built = {
      ...own,
      methods: of.methods,
      path: `${V1_ROOT}${path}`,
      ...paramsPart(path, parameter),
      query: query === undefined ? usualQuery : Type.Object({ ...of.query, ...query }),
      answers: joinAnswers(
        returns === undefined ? {} : { 200: returns },
        usualErrors(definition),
        Object.fromEntries(Object.entries(errors).map(([status, text]) => [status, refused(text)])),
        answers,
      ),
      ...(of.blocking === true ? { blocking: true } : {}),
    }
    // Each member is built from the same parts of kind, path and definition as its type.
    return built as unknown as Built<K, P, D>
  }
}

const GET = ['GET'] as const

/** A list that may be long: blocking, filtered and in pages. */
export const list = kind({
  methods: GET,
  query: { ...common, ...blocking, ...listing },
  blocking: true,
})

/** A blocking read of one record, or of a list that is never long. */
export const watch = kind({ methods: GET, query: { ...common, ...blocking }, blocking: true })

/** A read from the state that does not block. */
export const read = kind({ methods: GET, query: { ...common, ...consistency } })

/** A read of data that only a node or one server has, so that no other server can respond. */
export const ask = kind({ methods: GET, query: common })

/** A read with its parameters in the body; POST and PUT are equivalent. */
export const readByBody = kind({
  methods: ['POST', 'PUT'],
  query: { ...common, ...consistency },
})

/** A blocking read with its parameters in the body. */
export const watchByBody = kind({
  methods: ['POST', 'PUT'],
  query: { ...common, ...blocking },
  blocking: true,
})

/** A write; POST and PUT are equivalent. */
export const write = kind({ methods: ['POST', 'PUT'], query: common })

/** A write on a path whose documentation prefers PUT. */
export const put = kind({ methods: ['PUT', 'POST'], query: common })

export const remove = kind({ methods: ['DELETE'], query: common })

/** A write on a path that accepts PUT only. */
export const putOnly = kind({ methods: ['PUT'], query: common })

/** Garbage collection on a node. Older clients request it with GET. */
export const collect = kind({ methods: ['PUT', 'POST', 'GET'], query: common })
