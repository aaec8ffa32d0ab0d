package discovery

import (
	"bytes"
	"maps"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/problem"
)

// advice is what a problem means and what to do about it, as markup.Prose.
type advice struct{ Meaning, Action string }

// problemAdvice returns the words about each problem code.
func problemAdvice() map[problem.Code]advice {
	words := requestAdvice()
	maps.Copy(words, formAdvice())
	maps.Copy(words, answerAdvice())
	return words
}

// requestAdvice is about requests that have to be changed.
func requestAdvice() map[problem.Code]advice {
	return map[problem.Code]advice{
		problem.MalformedRequest: {
			"The request cannot be read: the target, the query string or the body is not what it has to be. A query must be well-formed, and a " +
				"JSON body must be one object, without duplicate names. What is no HTTP at all, such as a broken percent-escape in the path, is answered 400 in plain text.",
			"Correct the request; sending it again as it is will not help. `errors` tells where, if the place is known.",
		},
		problem.InvalidParameter: {
			"A parameter is there, but its value is not allowed, such as a `per_page` that is no whole number between 1 and 100, or a `cursor` " +
				"that this server did not make.",
			"Read `errors`: each entry names a `field` and what is wrong with it. Take cursors only from `next_cursor`, and unchanged.",
		},
		problem.CredentialInQuery: {
			"The query string has a parameter that looks like a token. Addresses end up in logs and histories, so credentials are never taken from there.",
			"Send the token in the header `Authorization: Bearer …`. Consider the one that you sent as known to others, and revoke it.",
		},
		problem.Unauthenticated: {
			"There was no token, or it is expired, revoked or unknown. `WWW-Authenticate` names the metadata that tells where to get one.",
			"Refresh the access token and try once more. If that fails too, let the person approve the agent again.",
		},
		problem.OutOfCredits: {
			"The work costs credits, and what is left of the member's month does not cover it. Nothing was done.",
			"Wait for the day in `detail`, or do with cheaper calls; `get_account` has the balance and the prices.",
		},
		problem.InsufficientScope: {
			"The token is alive, but the member did not give it a scope that this needs. `WWW-Authenticate` names the scopes.",
			"Do not try again with the same token: ask the member for the scope by a new authorization.",
		},
		problem.ForbiddenOrigin: {
			"The `Origin` or the `Host` of the request is not one that may call this server. That keeps web pages of others out.",
			"Call from a server or a command line, or ask the operator to allow the origin of your page.",
		},
		problem.NotBatchable: {
			"An item of a batch is no read that may be batched. The other items are not affected. `batchable` lists what may be asked for.",
			"Send that request by itself, or take a path and parameters from `batchable`.",
		},
		problem.NotFound: {
			"Nothing is at this path. A member who does not exist, who is private and who is suspended are not told apart.",
			"Check the path byte for byte: paths are never cleaned or redirected. [`" + pathIndex + "`](" + pathIndex + ") and what " +
				"it names tell which there are.",
		},
		problem.JobNotStarted: {
			"A job of this kind cannot be started as things are; `detail` says why.",
			"Change what it says, or use the tool that starts the kind, which takes arguments.",
		},
		problem.IdempotencyConflict: {
			"The first request with this `Idempotency-Key` is still being worked on, so there is no answer to repeat yet.",
			"Send the same bytes again after the seconds in `Retry-After`. Do not take a new key: that would do the work twice.",
		},
		problem.IdempotencyMismatch: {
			"This `Idempotency-Key` was sent within the last 24 hours for another operation or with another body. A key stands for one request.",
			"Repeat the same bytes to get the first answer again, or take a new key for a new request.",
		},
		problem.MethodNotAllowed: {
			"The path is right, the method is not.",
			"Use a method of the `Allow` header.",
		},
	}
}

// formAdvice is about the form of requests: their headers, media types and sizes.
func formAdvice() map[problem.Code]advice {
	return map[problem.Code]advice{
		problem.NotAcceptable: {
			"`Accept` excludes every form that this address has, with a weight of 0.",
			"Take the exclusion away, or ask for a form that is named in `detail`. Not naming a form is no exclusion.",
		},
		problem.ContentTooLarge: {
			"The body is larger than this path takes.",
			"Send less at a time. Large files are imported with a job, not in one request.",
		},
		problem.UnsupportedMediaType: {
			"The body is of a type that this path does not read, or it is compressed.",
			"Send JSON as `Content-Type: application/json`, without a `Content-Encoding`.",
		},
		problem.MisdirectedRequest: {
			"The request names a host that this server does not answer for.",
			"Send it to the host of the service, on a connection to that host.",
		},
		problem.HeadersTooLarge: {
			"The request line and the headers take more than 16 KiB together. From 20 KiB on the answer has the same status and is plain text, since the " +
				"request was not read.",
			"Send fewer or shorter headers: cookies and tokens of other services need not be there.",
		},
		problem.NotImplemented: {
			"No path of this server knows the method. Methods are case-sensitive.",
			"Use GET, or the method that the documentation of the path names.",
		},
	}
}

// answerAdvice is about requests that are well-formed and have no answer, now or
// any more.
func answerAdvice() map[problem.Code]advice {
	return map[problem.Code]advice{
		problem.UnsupportedIdentityType: {
			"`POST " + pathIdentity + "` was sent a `type` other than `anonymous` or `service_auth`.",
			"Use one of the two. There is no other way to identify, and nothing to claim.",
		},
		problem.RequestTimeout: {
			"The request took too long to arrive, and the connection is closed.",
			"Send it again, at once and whole.",
		},
		problem.Gone: {
			"The path was deprecated, and the day of its removal has come.",
			"Use the path in the `Link` header with `rel=\"successor-version\"`. It will not come back.",
		},
		problem.RateLimited: {
			"The budget of the rate policy is used up. `RateLimit` and `RateLimit-Policy` tell which one, what is left and when it resets; an item " +
				"of a batch tells it in `policy` and `retry_after`.",
			"Wait for the seconds in `Retry-After`. Read `RateLimit-Remaining` of every answer to slow down before it is 0.",
		},
		problem.AnswerTooLarge: {
			"What was asked for is there, and it is too large to be answered in one piece, alone or with the other items of a batch.",
			"Ask for less at a time: a smaller page, or fewer items in a batch.",
		},
		problem.Internal: {
			"Something failed on our side, and nothing is wrong with the request. The cause was logged under the id in `instance`.",
			"Try again later. If it stays, report the id.",
		},
		problem.Unavailable: {
			"The service, or a part that it needs, cannot answer right now. Your credentials are as good as before.",
			"Wait for the seconds in `Retry-After`, then try again.",
		},
	}
}

// problemPages returns a page for every problem code. A code without advice still
// has one; a test keeps that from happening.
func problemPages(problems *problem.Writer) []errorPage {
	words := problemAdvice()
	var pages []errorPage
	for _, code := range problem.Codes() {
		a, ok := words[code]
		if !ok {
			a = advice{Meaning: code.Title() + ".", Action: "Read `detail` of the answer."}
		}
		pages = append(pages, errorPage{
			Code: string(code), Title: code.Title(), Status: statusWords(code.Status()), Meaning: a.Meaning, Action: a.Action,
			Example: problemExample(problems, code),
		})
	}
	return pages
}

// problemExample returns the body that the writer writes for the code, indented.
func problemExample(problems *problem.Writer, code problem.Code) string {
	w := &bodyRecorder{header: http.Header{}}
	problems.Write(w, &http.Request{Method: http.MethodGet}, code, "What this is about, in one sentence.")
	body := jsontext.Value(w.body.Bytes())
	if err := body.Indent(jsontext.WithIndent("  ")); err != nil {
		return ""
	}
	return string(body)
}

// bodyRecorder is an answer of which only the body counts.
type bodyRecorder struct {
	header http.Header
	body   bytes.Buffer
}

func (w *bodyRecorder) Header() http.Header         { return w.header }
func (w *bodyRecorder) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *bodyRecorder) WriteHeader(int)             {}
